import { closeSync, constants, lstatSync, openSync, readlinkSync, symlinkSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import type { TreeEntry } from '../../format/tree/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { makeDevice } from '../native/device-number.ts';
import { nativeCalls } from '../native/native.ts';
import { targetError } from '../paths/path-failures.ts';
import type { EntryMetadata, MetadataTarget } from './target-metadata.ts';
import { applyMetadata, applyMetadataByPath } from './target-metadata.ts';
import type { TargetPolicy } from './target-policy.ts';
import { removeOtherXattrs } from './target-attributes.ts';
import { placeOverClaim, placeTarget, removeIfPossible, replaceTarget, temporaryPathBeside } from './target-names.ts';
import type { FilePlace } from './target-names.ts';

/** Until a file is finished, it may have to be opened again. */
const OWNER_WRITES = 0o200;
const CREATE_FLAGS = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

/** The result of restoring a FIFO, device or socket. */
interface SpecialOutcome {
  /** Why it was skipped: the programs that listen on sockets create them; devices need root and an explicit request. */
  readonly skipped: 'socket' | 'device' | undefined;
  /** Metadata that could not be set on the new file. */
  readonly failure: TargetError | undefined;
}

/**
 * Creates a file exclusively and returns a descriptor for writing. Sets the permission bits of `mode` at once, but lets
 * the owner write, and sets the set-id bits only in `finishTargetFile`. Throws TargetError, with errno EEXIST if the
 * name exists.
 */
export function createTargetFile(path: ByteString, mode: number): number {
  try {
    return openSync(fsPath(path), CREATE_FLAGS, (mode & 0o777) | OWNER_WRITES);
  } catch (cause) {
    throw targetError({ operation: 'create', path, cause });
  }
}

/**
 * Sets owner, mode and time of a written file, and closes it. Returns an error for the first metadata that could not be
 * set. Throws TargetError if closing fails, because then the contents may be lost.
 */
export function finishTargetFile(
  descriptor: number,
  entry: EntryMetadata,
  target: MetadataTarget,
): TargetError | undefined {
  const failure = applyMetadata(descriptor, entry, target);
  closeTarget(descriptor, target.path);
  return failure;
}

/** Sets the metadata of a file that has the right content. Does not follow a symlink. Returns an error like `finishTargetFile`. */
export function finishExistingFile(
  path: ByteString,
  entry: EntryMetadata,
  policy: TargetPolicy,
): TargetError | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(fsPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    return targetError({ operation: 'set the metadata of', path, cause });
  }
  removeOtherXattrs(descriptor, entry, policy.attributes);
  return finishTargetFile(descriptor, entry, { path, policy });
}

function closeTarget(descriptor: number, path: ByteString): void {
  try {
    closeSync(descriptor);
  } catch (cause) {
    throw targetError({ operation: 'close', path, cause });
  }
}

/**
 * Creates anything but a file or directory. It gets its name when its metadata is complete: the next restore would take
 * it for unchanged, since it compares only what such a file is. An existing file stays until then.
 */
export function createOther(
  place: FilePlace,
  entry: TreeEntry & Pick<EntryMetadata, 'inheritsAcl'>,
  policy: TargetPolicy,
): SpecialOutcome {
  const workPath = temporaryPathBeside(place.path);
  const outcome: SpecialOutcome =
    entry.type === 'symlink'
      ? { skipped: undefined, failure: createSymlink(place.path, entry, policy, workPath) }
      : createSpecial(place.path, entry, policy, workPath);
  if (outcome.skipped === undefined) placeOther(workPath, place, entry);
  return outcome;
}

function placeOther(workPath: ByteString, { path, replaces }: FilePlace, { type }: TreeEntry): void {
  try {
    if (replaces) replaceTarget(workPath, path);
    // On macOS, a hard link to a symlink would link to the target of the symlink.
    else if (type === 'symlink' && process.platform === 'darwin') placeOverClaim(workPath, path);
    else placeTarget(workPath, path);
  } catch (error) {
    removeIfPossible(() => workPath);
    throw error;
  }
}

/**
 * Creates a symlink with its owner and time at `workPath`. `path`, where it will be, is for messages. Returns an error for
 * the first metadata that could not be set.
 */
export function createSymlink(
  path: ByteString,
  entry: EntryMetadata & Pick<TreeEntry, 'linkTarget'>,
  policy: TargetPolicy,
  workPath: ByteString,
): TargetError | undefined {
  try {
    symlinkSync(fsPath(entry.linkTarget), fsPath(workPath));
  } catch (cause) {
    throw targetError({ operation: 'create the symlink', path, cause });
  }
  return applyMetadataByPath(entry, { path, policy }, workPath);
}

/** Creates a FIFO or a device file; see `createSymlink`. */
export function createSpecial(
  path: ByteString,
  entry: EntryMetadata & Pick<TreeEntry, 'deviceMajor' | 'deviceMinor'>,
  policy: TargetPolicy,
  workPath: ByteString,
): SpecialOutcome {
  if (entry.type === 'socket') return { skipped: 'socket', failure: undefined };
  if (entry.type !== 'fifo' && !policy.makesDevices) return { skipped: 'device', failure: undefined };
  try {
    makeSpecial(workPath, entry);
  } catch (cause) {
    throw targetError({ operation: `create the ${entry.type}`, path, cause });
  }
  return { skipped: undefined, failure: applyMetadataByPath(entry, { path, policy }, workPath) };
}

function makeSpecial(path: ByteString, entry: EntryMetadata & Pick<TreeEntry, 'deviceMajor' | 'deviceMinor'>): void {
  const native = nativeCalls();
  if (native === undefined) throw new Error('this needs the package koffi, which cannot be loaded');
  const mode = entry.mode & 0o600;
  if (entry.type === 'fifo') return native.mkfifo(path, mode);
  const type = entry.type === 'block-device' ? constants.S_IFBLK : constants.S_IFCHR;
  native.mknod(path, type | mode, makeDevice(entry.deviceMajor, entry.deviceMinor));
}

/** Returns the metadata of a path at the target, without following a symlink. Throws TargetError. */
export function readTargetStats(path: ByteString): BigIntStats | undefined {
  try {
    return lstatSync(fsPath(path), { bigint: true, throwIfNoEntry: false });
  } catch (cause) {
    throw targetError({ operation: 'read the metadata of', path, cause });
  }
}

/** Returns the target of a symlink. Throws TargetError. */
export function readTargetLink(path: ByteString): ByteString {
  try {
    return readlinkSync(fsPath(path), 'latin1') as ByteString;
  } catch (cause) {
    throw targetError({ operation: 'read the link', path, cause });
  }
}
