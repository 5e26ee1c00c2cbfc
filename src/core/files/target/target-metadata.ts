import { chmodSync, fchmodSync, fchownSync, fstatSync, futimesSync, lchownSync, lstatSync, lutimesSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import { accessTimeOf } from '../../format/tree/access-time.ts';
import type { AccessTime } from '../../format/tree/access-time.ts';
import type { TreeEntry } from '../../format/tree/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { logicalPathOf } from '../paths/held-directories.ts';
import type { AttributePlace } from '../native/native-attributes.ts';
import { nativeCalls } from '../native/native.ts';
import { targetError } from '../paths/path-failures.ts';
import { STATX_CURRENT_DIRECTORY, STATX_NO_FOLLOW, STATX_OPEN_FILE, ownerAndMode, statx } from '../native/statx.ts';
import {
  AttributesError,
  LOCKING_FLAGS,
  groupPermissionsOf,
  lacksAccessAcl,
  setFlags,
  setXattrs,
} from './target-attributes.ts';
import type { AttributesToSet, UnsetAttribute } from './target-attributes.ts';
import type { OwnedEntry, TargetPolicy } from './target-policy.ts';
import { wantedGid, wantedUid } from './target-policy.ts';

/** The fields of an entry that are set on a restored file. */
export type EntryMetadata = OwnedEntry &
  AttributesToSet &
  Pick<TreeEntry, 'type' | 'mode' | 'mtimeSeconds' | 'mtimeNanoseconds' | 'extensions'>;

/** How to reach a file to set its metadata: an open descriptor, or a path whose last name is not followed. */
interface Handle {
  /** For extended attributes. */
  readonly place: AttributePlace;
  /** Undefined if inode flags cannot be set in this way. */
  readonly descriptor: number | undefined;
  stat(): Pick<Stats, 'uid' | 'gid' | 'mode'>;
  chown(uid: number, gid: number): void;
  chmod(mode: number): void;
  /** `accessed`: undefined to leave the access time as it is. */
  setTimes(modified: AccessTime, accessed: AccessTime | undefined): void;
  /** Seconds; undefined if they are unknown. */
  modified(): number | undefined;
}

const SET_UID = 0o4000;
const SET_GID = 0o2000;
/** Until January 2038: every file system of Linux has these times. */
const COMMON_SECONDS_MAX = 2 ** 31 - 1;
const OTHER_TIME: UnsetAttribute = { name: 'mtime', reason: 'unsupported' };
const NO_PATH = '' as ByteString;

export interface MetadataTarget {
  /** For messages. */
  readonly path: ByteString;
  readonly policy: TargetPolicy;
}

/**
 * Sets owner, attributes, mode, time and inode flags of an open file or directory, in this order: chown clears set-id
 * bits and capabilities, an ACL changes the mode, and all of them change the time. Tries all steps and returns the first
 * failure, or an `AttributesError` with it, because the contents are complete without it.
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
  let unset: readonly UnsetAttribute[] = [];
  attempt('set the owner or mode of', () => {
    const stats = handle.stat();
    const owner = ownerToSet(stats, entry, policy);
    const isChanged = owner.uid !== stats.uid || owner.gid !== stats.gid;
    const isOwned = isChanged && attempt('set the owner of', () => handle.chown(owner.uid, owner.gid));
    unset = setXattrs(handle.place, entry, policy.attributes);
    if (entry.type === 'symlink') return;
    const mode = modeToSet(handle.place, entry, policy, isOwned ? owner : stats);
    // The system may have cleared the set-id bits when the owner changed, and an ACL sets those of the group.
    const mayDiffer = entry.xattrs.length > 0 || (isOwned && (mode & (SET_UID | SET_GID)) !== 0);
    if (mode !== (stats.mode & 0o7777) || mayDiffer) handle.chmod(mode);
    if (mode !== (entry.mode & 0o7777)) unset = [...unset, ...unsetBits(entry.mode & ~mode)];
  });
  const isTimeSet = attempt('set the time of', () => {
    const modified = { seconds: entry.mtimeSeconds, nanoseconds: entry.mtimeNanoseconds };
    handle.setTimes(modified, accessTimeOf(entry));
  });
  if (isTimeSet && isOtherTime(handle, entry)) unset = [...unset, OTHER_TIME];
  if (handle.descriptor !== undefined && entry.inodeFlags !== 0)
    unset = [...unset, ...setFlags(handle.descriptor, flagsToSet(entry), policy.attributes)];
  return unset.length === 0 ? failure : new AttributesError(logicalPathOf(path), unset, failure);
}

function unsetBits(mode: number): UnsetAttribute[] {
  const names = [...((mode & SET_UID) === 0 ? [] : ['setuid bit']), ...((mode & SET_GID) === 0 ? [] : ['setgid bit'])];
  return names.map((name) => ({ name, reason: 'owner' }));
}

/** The system sets the nearest time that the file system has, without an error. Few files have a time of other centuries. */
function isOtherTime(handle: Handle, { mtimeSeconds }: EntryMetadata): boolean {
  if (mtimeSeconds >= 0 && mtimeSeconds <= COMMON_SECONDS_MAX) return false;
  return (handle.modified() ?? mtimeSeconds) !== mtimeSeconds;
}

/** Nothing can be done to a file or directory that is locked; see `lockFile`. */
function flagsToSet(entry: EntryMetadata): AttributesToSet {
  if ((entry.inodeFlags & LOCKING_FLAGS) === 0) return entry;
  return { xattrs: entry.xattrs, inodeFlags: entry.inodeFlags & ~LOCKING_FLAGS };
}

/** Returns whether `applyMetadata` would change the owner or the mode of a file with these. */
export function hasOtherMode(
  place: AttributePlace,
  current: Owner & { readonly mode: number },
  entry: EntryMetadata,
  policy: TargetPolicy,
): boolean {
  const owner = ownerToSet(current, entry, policy);
  if (owner.uid !== current.uid || owner.gid !== current.gid) return true;
  // The mode of a symlink means nothing.
  return entry.type !== 'symlink' && modeToSet(place, entry, policy, owner) !== (current.mode & 0o7777);
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

/**
 * Drops a set-id bit unless the file gets its original owner or group: a program must not run as a different user.
 * Without its ACL, the mask of the ACL must not become the permissions of the group.
 */
function modeToSet(place: AttributePlace, entry: EntryMetadata, policy: TargetPolicy, owner: Owner): number {
  let mode = entry.mode & 0o7777;
  if (entry.type !== 'symlink' && lacksAccessAcl(place, entry)) mode &= ~0o070 | (groupPermissionsOf(entry) << 3);
  if ((mode & SET_UID) !== 0 && owner.uid !== wantedUid(entry, policy)) mode &= ~SET_UID;
  if ((mode & SET_GID) !== 0 && owner.gid !== wantedGid(entry, policy)) mode &= ~SET_GID;
  return mode;
}

function descriptorHandle(descriptor: number): Handle {
  const native = nativeCalls();
  const calls = native?.file;
  return {
    place: descriptor,
    descriptor,
    stat: () => ownerAndMode(descriptor) ?? fstatSync(descriptor),
    chown: (uid, gid) => (calls === undefined ? fchownSync(descriptor, uid, gid) : calls.fchown(descriptor, uid, gid)),
    chmod: (mode) => (calls === undefined ? fchmodSync(descriptor, mode) : calls.fchmod(descriptor, mode)),
    setTimes: (modified, accessed) => {
      if (native !== undefined) native.futimens(descriptor, accessed, modified);
      else futimesSync(descriptor, roundedTime(accessed ?? modified), roundedTime(modified));
    },
    modified: () => statx(descriptor, NO_PATH, STATX_OPEN_FILE)?.mtimeSeconds,
  };
}

function pathHandle(path: ByteString): Handle {
  const target = fsPath(path);
  return {
    place: path,
    descriptor: undefined,
    stat: () => lstatSync(target),
    chown: (uid, gid) => lchownSync(target, uid, gid),
    chmod: (mode) => chmodSync(target, mode),
    setTimes: (modified, accessed) => {
      const native = nativeCalls();
      if (native !== undefined) native.lutimens(path, accessed, modified);
      else lutimesSync(target, roundedTime(accessed ?? modified), roundedTime(modified));
    },
    modified: () => statx(STATX_CURRENT_DIRECTORY, path, STATX_NO_FOLLOW)?.mtimeSeconds,
  };
}

/** Node treats a negative number as "now", but accepts a Date before 1970. */
function roundedTime({ seconds, nanoseconds }: AccessTime): Date {
  return new Date(seconds * 1e3 + nanoseconds / 1e6);
}
