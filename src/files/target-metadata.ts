import { chmodSync, fchmodSync, fchownSync, fstatSync, futimesSync, lchownSync, lstatSync, lutimesSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { TargetError } from '../errors.ts';
import type { TreeEntry } from '../format/tree.ts';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath } from '../util/byte-string.ts';
import { nativeCalls } from './native.ts';
import { targetError } from './path-failures.ts';
import { ownerAndMode } from './statx.ts';
import type { OwnedEntry, TargetPolicy } from './target-policy.ts';
import { wantedGid, wantedUid } from './target-policy.ts';

/** The fields of an entry that are set on a restored file. */
export type EntryMetadata = OwnedEntry & Pick<TreeEntry, 'type' | 'mode' | 'mtimeSeconds' | 'mtimeNanoseconds'>;

/** How to reach a file to set its metadata: an open descriptor, or a path whose last name is not followed. */
interface Handle {
  stat(): Pick<Stats, 'uid' | 'gid' | 'mode'>;
  chown(uid: number, gid: number): void;
  chmod(mode: number): void;
  setModified(seconds: number, nanoseconds: number): void;
}

const SET_UID = 0o4000;
const SET_GID = 0o2000;

export interface MetadataTarget {
  /** For messages. */
  readonly path: ByteString;
  readonly policy: TargetPolicy;
}

/**
 * Sets owner, mode and time of an open file or directory, in this order: chown clears set-id bits, and the other calls
 * change the time. Tries all steps and returns the first failure, because the contents are complete without it.
 */
export function applyMetadata(
  descriptor: number,
  entry: EntryMetadata,
  target: MetadataTarget,
): TargetError | undefined {
  return applyTo(descriptorHandle(descriptor), entry, target);
}

/** The same by path, for files that must not be opened: symlinks, FIFOs, devices. `workPath`: where it is for now. */
export function applyMetadataByPath(
  entry: EntryMetadata,
  target: MetadataTarget,
  workPath: ByteString,
): TargetError | undefined {
  return applyTo(pathHandle(workPath), entry, target);
}

function applyTo(handle: Handle, entry: EntryMetadata, { path, policy }: MetadataTarget): TargetError | undefined {
  let failure: TargetError | undefined;
  const attempt = (operation: string, action: () => void): boolean => {
    try {
      action();
      return true;
    } catch (cause) {
      failure ??= targetError({ operation, path, cause });
      return false;
    }
  };
  attempt('set the owner or mode of', () => {
    const stats = handle.stat();
    const owner = ownerToSet(stats, entry, policy);
    const isChanged = owner.uid !== stats.uid || owner.gid !== stats.gid;
    const isOwned = isChanged && attempt('set the owner of', () => handle.chown(owner.uid, owner.gid));
    if (entry.type === 'symlink') return;
    const mode = modeToSet(entry, policy, isOwned ? owner : stats);
    // The system may have cleared the set-id bits when the owner changed.
    if (mode !== (stats.mode & 0o7777) || (isOwned && (mode & (SET_UID | SET_GID)) !== 0)) handle.chmod(mode);
  });
  attempt('set the time of', () => handle.setModified(entry.mtimeSeconds, entry.mtimeNanoseconds));
  return failure;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function ownerToSet(current: Owner, entry: EntryMetadata, policy: TargetPolicy): Owner {
  const gid = wantedGid(entry, policy);
  if (policy.setsOwners) return { uid: wantedUid(entry, policy), gid };
  return { uid: current.uid, gid: policy.ownGroups.has(gid) ? gid : current.gid };
}

/** Drops a set-id bit unless the file gets its original owner or group: a program must not run as a different user. */
function modeToSet(entry: EntryMetadata, policy: TargetPolicy, owner: Owner): number {
  let mode = entry.mode & 0o7777;
  if ((mode & SET_UID) !== 0 && owner.uid !== wantedUid(entry, policy)) mode &= ~SET_UID;
  if ((mode & SET_GID) !== 0 && owner.gid !== wantedGid(entry, policy)) mode &= ~SET_GID;
  return mode;
}

function descriptorHandle(descriptor: number): Handle {
  const native = nativeCalls();
  const calls = native?.file;
  return {
    stat: () => ownerAndMode(descriptor) ?? fstatSync(descriptor),
    chown: (uid, gid) => (calls === undefined ? fchownSync(descriptor, uid, gid) : calls.fchown(descriptor, uid, gid)),
    chmod: (mode) => (calls === undefined ? fchmodSync(descriptor, mode) : calls.fchmod(descriptor, mode)),
    setModified: (seconds, nanoseconds) => {
      if (native !== undefined) native.futimens(descriptor, undefined, { seconds, nanoseconds });
      else futimesSync(descriptor, roundedTime(seconds, nanoseconds), roundedTime(seconds, nanoseconds));
    },
  };
}

function pathHandle(path: ByteString): Handle {
  const target = fsPath(path);
  return {
    stat: () => lstatSync(target),
    chown: (uid, gid) => lchownSync(target, uid, gid),
    chmod: (mode) => chmodSync(target, mode),
    setModified: (seconds, nanoseconds) => {
      const native = nativeCalls();
      if (native !== undefined) native.lutimens(path, undefined, { seconds, nanoseconds });
      else lutimesSync(target, roundedTime(seconds, nanoseconds), roundedTime(seconds, nanoseconds));
    },
  };
}

/** Node treats a negative number as "now", but accepts a Date before 1970. */
function roundedTime(seconds: number, nanoseconds: number): Date {
  return new Date(seconds * 1e3 + nanoseconds / 1e6);
}
