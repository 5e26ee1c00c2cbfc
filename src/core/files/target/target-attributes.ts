import { closeSync, constants, openSync } from 'node:fs';
import { TargetError } from '../../errors.ts';
import { INODE_FLAGS, KEPT_FLAGS } from '../../format/inode-flags.ts';
import type { EntryAttributes } from '../../format/tree/tree-entry.ts';
import { byteStringFromBytes, fsPath, textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { heldDescriptorOf } from '../paths/held-directories.ts';
import { errnoOfResult } from '../native/native-attributes.ts';
import type { AttributePlace, NativeAttributeCalls } from '../native/native-attributes.ts';
import { nativeCalls } from '../native/native.ts';
import type { AttributePolicy } from './target-policy.ts';
import { ACL_NAMES, mayRemove, maySet, needsRoot } from './xattr-choice.ts';

/** The fields of an entry from which the attributes of a restored file are set. */
export interface AttributesToSet extends Pick<EntryAttributes, 'xattrs' | 'inodeFlags'> {
  /** Whether the new file has inherited an ACL from an existing directory, which its entry may not have. */
  readonly inheritsAcl?: boolean;
}

/** An attribute or a flag that a restored file lacks. */
export interface UnsetAttribute {
  /** Of the attribute; `flag` and the letter of chattr(1); `setuid bit` or `setgid bit`; or `mtime`. */
  readonly name: string;
  /**
   * The user may not set it; it must not be set without the owner or group; the file system does not have it; or the
   * name of another error.
   */
  readonly reason: 'privilege' | 'owner' | 'unsupported' | (string & {});
}

/** Some attributes could not be set. `other`: what failed before that. */
export class AttributesError extends TargetError {
  override readonly code = 'ATTRIBUTES';
  readonly unset: readonly UnsetAttribute[];
  readonly other: TargetError | undefined;

  constructor(path: ByteString, unset: readonly UnsetAttribute[], other: TargetError | undefined) {
    super(`cannot set attributes of ${textOf(path)}: ${unset.map(describeUnset).join(', ')}`, { path });
    this.unset = unset;
    this.other = other;
  }
}

/** Nothing can change a file that has one of them, so they are set when nothing else is to be done. */
export const LOCKING_FLAGS: number = 0x10 | 0x20;
/** They decide how content is stored, so they must be set before it is written. */
const STORING_FLAGS = 0x4 | 0x400 | 0x80_0000;
const DATA_JOURNAL = 0x4000;
/** Flags that need a capability. */
const PRIVILEGED_FLAGS = LOCKING_FLAGS | DATA_JOURNAL;
const UNSUPPORTED: ReadonlySet<string> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOTTY', 'ENOSYS']);
const [ACCESS_ACL, DEFAULT_ACL] = ACL_NAMES as [ByteString, ByteString];
const ACL_GROUP_OBJ = 0x04;
const ACL_MASK = 0x10;
/** For all names or one value: XATTR_LIST_MAX and XATTR_SIZE_MAX in linux/limits.h. */
const scratch = Buffer.alloc(64 * 1024);
const NOTHING: readonly UnsetAttribute[] = [];

export function describeUnset({ name, reason }: UnsetAttribute): string {
  if (reason === 'privilege') return `${name} (only root can set it)`;
  if (reason === 'owner') return `${name} (not without its owner and group)`;
  return reason === 'unsupported' ? `${name} (the file system does not have it)` : `${name} (${reason})`;
}

/** Returns what is not even tried, because only root may set it. */
export function skippedAttributes(
  { xattrs, inodeFlags }: AttributesToSet,
  policy: AttributePolicy,
): readonly UnsetAttribute[] {
  if (!policy.sets || policy.isPrivileged || (xattrs.length === 0 && inodeFlags === 0)) return NOTHING;
  const names = xattrs.filter(({ name }) => needsRoot(name, policy)).map(({ name }) => textOf(name));
  return [...names, ...flagNames(inodeFlags & PRIVILEGED_FLAGS)].map((name) => ({ name, reason: 'privilege' }));
}

/** Sets extended attributes, except for those that are skipped. Returns those that could not be set. */
export function setXattrs(
  place: AttributePlace,
  { xattrs, inheritsAcl }: AttributesToSet,
  policy: AttributePolicy,
): readonly UnsetAttribute[] {
  if (!policy.sets || (xattrs.length === 0 && inheritsAcl !== true)) return NOTHING;
  const calls = nativeCalls()?.attributes;
  const chosen = xattrs.filter(({ name }) => maySet(name, policy));
  if (calls === undefined) return chosen.map(({ name }) => ({ name: textOf(name), reason: 'unsupported' }));
  if (inheritsAcl === true && xattrs.every(({ name }) => name !== ACCESS_ACL)) calls.remove(place, ACCESS_ACL);
  const unset: UnsetAttribute[] = [];
  for (const { name, value } of chosen) {
    const result = calls.set(place, name, value);
    if (result < 0) unset.push({ name: textOf(name), reason: reasonOf(result) });
  }
  return unset;
}

/** Removes the attributes of an existing file or directory that its entry does not have. */
export function removeOtherXattrs(place: AttributePlace, { xattrs }: AttributesToSet, policy: AttributePolicy): void {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined || !policy.removesOthers) return;
  for (const name of otherNames(calls, place, xattrs, policy)) calls.remove(place, name);
}

/** Returns whether `setXattrs` and `removeOtherXattrs` would change an existing file. */
export function hasOtherXattrs(place: AttributePlace, { xattrs }: AttributesToSet, policy: AttributePolicy): boolean {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined || !policy.sets) return false;
  for (const { name, value } of xattrs) {
    if (!maySet(name, policy)) continue;
    const foundBytes = calls.get(place, name, scratch);
    if (foundBytes < 0 || Buffer.compare(scratch.subarray(0, foundBytes), value) !== 0) return true;
  }
  return policy.removesOthers && otherNames(calls, place, xattrs, policy).length > 0;
}

/** Returns the attributes that an entry does not have and that may be removed. */
function otherNames(
  calls: NativeAttributeCalls,
  place: AttributePlace,
  xattrs: AttributesToSet['xattrs'],
  policy: AttributePolicy,
): ByteString[] {
  const names: ByteString[] = [];
  const listBytes = calls.list(place, scratch);
  for (let start = 0, end = 0; start < listBytes; start = end + 1) {
    end = scratch.indexOf(0, start);
    const name = byteStringFromBytes(scratch.subarray(start, end));
    if (mayRemove(name, policy) && xattrs.every((kept) => kept.name !== name)) names.push(name);
  }
  return names;
}

/** Returns whether a file lacks the access ACL of its entry, whose mode has the mask of that ACL for the group. */
export function lacksAccessAcl(place: AttributePlace, { xattrs }: AttributesToSet): boolean {
  const acl = accessAclOf(xattrs);
  if (acl === undefined) return false;
  const foundBytes = nativeCalls()?.attributes?.get(place, ACCESS_ACL, scratch) ?? -1;
  return foundBytes < 0 || Buffer.compare(scratch.subarray(0, foundBytes), acl) !== 0;
}

/** Returns the permissions, from 0 to 7, that the access ACL of an entry gives its group; 7 without an ACL. */
export function groupPermissionsOf({ xattrs }: AttributesToSet): number {
  const acl = accessAclOf(xattrs);
  if (acl === undefined) return 7;
  const { buffer, byteOffset, byteLength } = acl;
  const view = new DataView(buffer, byteOffset, byteLength);
  let permissions = 7;
  // A version, then tag, permissions and id of each entry (linux/posix_acl_xattr.h).
  for (let offset = 4; offset + 8 <= byteLength; offset += 8) {
    const tag = view.getUint16(offset, true);
    if (tag === ACL_GROUP_OBJ || tag === ACL_MASK) permissions &= view.getUint16(offset + 2, true);
  }
  return permissions;
}

function accessAclOf(xattrs: AttributesToSet['xattrs']): Uint8Array | undefined {
  return xattrs.length === 0 ? undefined : xattrs.find(({ name }) => name === ACCESS_ACL)?.value;
}

/** Returns whether new files in an existing directory get an ACL from it. */
export function hasDefaultAcl(directory: ByteString): boolean {
  const place = heldDescriptorOf(directory) ?? directory;
  const result = nativeCalls()?.attributes?.get(place, DEFAULT_ACL, new Uint8Array(0));
  return result !== undefined && result > 0;
}

/** Removes the ACLs that a new directory has inherited, before anything in it inherits them. */
export function removeInheritedAcl(directory: ByteString): void {
  for (const name of ACL_NAMES) nativeCalls()?.attributes?.remove(directory, name);
}

/** Sets the flags of a new, empty file that must be there before its content. Failures show in `setFlags`. */
export function setStoringFlags(descriptor: number, inodeFlags: number, policy: AttributePolicy): void {
  if ((inodeFlags & STORING_FLAGS) !== 0 && policy.sets) addFlags(descriptor, inodeFlags & STORING_FLAGS);
}

/**
 * Sets the inode flags of an open file or directory, which then has those of its entry among the flags that snapshots
 * keep. Returns those that could not be set. An entry without flags leaves a new file what it has.
 */
export function setFlags(
  descriptor: number,
  { inodeFlags }: AttributesToSet,
  policy: AttributePolicy,
): readonly UnsetAttribute[] {
  const wanted = inodeFlags & KEPT_FLAGS & ~(policy.isPrivileged ? 0 : PRIVILEGED_FLAGS);
  if (wanted === 0 || !policy.sets) return NOTHING;
  return addFlags(descriptor, wanted);
}

/** Returns whether `setFlags` would change an existing file. It is opened only if its entry has such flags. */
export function lacksFlags(path: ByteString, { inodeFlags }: AttributesToSet, policy: AttributePolicy): boolean {
  const wanted = inodeFlags & KEPT_FLAGS & ~LOCKING_FLAGS & ~(policy.isPrivileged ? 0 : PRIVILEGED_FLAGS);
  const calls = nativeCalls()?.attributes;
  if (wanted === 0 || !policy.sets || calls === undefined) return false;
  let descriptor: number;
  try {
    descriptor = openSync(fsPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return true;
  }
  const current = calls.flags(descriptor);
  closeSync(descriptor);
  return current < 0 || (current & wanted) !== wanted;
}

/** Tries the flags one by one if they cannot be set together, so that one that is not supported costs only itself. */
export function addFlags(descriptor: number, wanted: number): readonly UnsetAttribute[] {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined) return unsetFlags(wanted, 'unsupported');
  const current = calls.flags(descriptor);
  if (current < 0) return unsetFlags(wanted, reasonOf(current));
  if ((current & wanted) === wanted || calls.setFlags(descriptor, current | wanted) >= 0) return NOTHING;
  const unset: UnsetAttribute[] = [];
  // Nothing can be set after a locking flag.
  for (const bit of INODE_FLAGS.map((flag) => flag.bit & wanted & ~current).toSorted(lockingLast)) {
    const result = bit === 0 ? 0 : calls.setFlags(descriptor, Math.max(0, calls.flags(descriptor)) | bit);
    if (result < 0) unset.push(...unsetFlags(bit, reasonOf(result)));
  }
  return unset;
}

function lockingLast(a: number, b: number): number {
  return (a & LOCKING_FLAGS) - (b & LOCKING_FLAGS);
}

export function unsetFlags(flags: number, reason: string): UnsetAttribute[] {
  return flagNames(flags).map((name) => ({ name, reason }));
}

function flagNames(flags: number): string[] {
  return INODE_FLAGS.filter(({ bit }) => (flags & bit) !== 0).map(({ letter }) => `flag ${letter}`);
}

function reasonOf(result: number): string {
  const errno = errnoOfResult(result);
  return UNSUPPORTED.has(errno) ? 'unsupported' : errno;
}
