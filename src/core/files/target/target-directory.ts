import { constants, lstatSync, mkdirSync, openSync } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { heldDescriptorOf, unfollowedPath } from '../paths/held-directories.ts';
import { errnoOf, targetError } from '../paths/path-failures.ts';
import { STATX_CURRENT_DIRECTORY, hasLockingFlag } from '../native/statx.ts';
import { OWNER_SEARCH, assertNotClosed } from './target-access.ts';
import { hasOtherXattrs, removeOtherXattrs } from './target-attributes.ts';
import { applyMetadata, hasOtherMode } from './target-metadata.ts';
import type { EntryMetadata } from './target-metadata.ts';
import type { TargetPolicy } from './target-policy.ts';
import { finishTargetFile, readTargetStats } from './target-writer.ts';

/**
 * Creates a directory that only we can access until `finishTargetDirectory`, or uses an existing one. Returns whether
 * it is new. Throws TargetError if anything else has the name, even a symlink to a directory: nothing is written
 * through it.
 */
export function makeTargetDirectory(path: ByteString): boolean {
  try {
    mkdirSync(fsPath(path), 0o700);
    return true;
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw targetError({ operation: 'create the directory', path, cause });
    if (isRealDirectory(path)) return false;
    throw targetError({ operation: 'create the directory', path, cause: somethingInTheWay() });
  }
}

/**
 * Like `makeTargetDirectory`, but creates nothing: returns whether the directory exists. Throws TargetError if anything
 * else has the name, or if it must be opened first.
 */
export function findTargetDirectory(path: ByteString): boolean {
  const stats = readTargetStats(path);
  if (stats === undefined) return false;
  if (stats.isDirectory()) {
    assertNotClosed(path, OWNER_SEARCH);
    return true;
  }
  throw targetError({ operation: 'create the directory', path, cause: somethingInTheWay() });
}

function somethingInTheWay(): Error {
  return Object.assign(new Error('something else has this name; move it away'), { code: 'EEXIST' });
}

function isRealDirectory(path: ByteString): boolean {
  return lstatSync(fsPath(unfollowedPath(path)), { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Sets the metadata of a directory. Call it after restoring the contents, which changes the time. A directory that is not
 * new loses the attributes that its entry does not have. Returns an error like `applyMetadata`.
 */
export function finishTargetDirectory(
  path: ByteString,
  entry: EntryMetadata,
  policy: TargetPolicy,
  { isNew = true }: { readonly isNew?: boolean } = {},
): TargetError | undefined {
  const held = heldDescriptorOf(path);
  // Nothing could be set, so what is right already must not fail.
  if (!isNew && isLockedAs(path, entry, policy)) return undefined;
  if (!isNew) removeOtherXattrs(held ?? path, entry, policy.attributes);
  if (held !== undefined) return applyMetadata(held, entry, { path, policy });
  let descriptor: number;
  try {
    descriptor = openSync(fsPath(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (cause) {
    return targetError({ operation: 'set the metadata of', path, cause });
  }
  return finishTargetFile(descriptor, entry, { path, policy });
}

/** Returns whether an existing directory is immutable or append-only, and has the metadata of its entry. */
function isLockedAs(path: ByteString, entry: EntryMetadata, policy: TargetPolicy): boolean {
  const inside = unfollowedPath(path);
  if (!hasLockingFlag(STATX_CURRENT_DIRECTORY, inside)) return false;
  const stats = readTargetStats(inside);
  const mtime = BigInt(entry.mtimeSeconds) * 1_000_000_000n + BigInt(entry.mtimeNanoseconds);
  if (stats?.mtimeNs !== mtime) return false;
  const current = { uid: Number(stats.uid), gid: Number(stats.gid), mode: Number(stats.mode) };
  return !hasOtherMode(inside, current, entry, policy) && !hasOtherXattrs(inside, entry, policy.attributes);
}
