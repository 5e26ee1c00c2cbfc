import { holesWithin } from '../files/source/hole-map.ts';
import type { OwnerNames } from '../files/native/owner-names.ts';
import { readLinkTarget } from '../files/source/source-files.ts';
import type { SourceMetadata } from '../files/source/status-fields.ts';
import { accessTimeExtensions, accessTimeOf } from '../format/tree/access-time.ts';
import type { EntryAttributes } from '../format/tree/tree-entry.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { ByteString } from '../util/byte-string.ts';

/** The part of an entry that is not metadata. */
export type EntryContent = Partial<
  Pick<TreeEntry, 'chunkIds' | 'treeId' | 'linkTarget' | 'sizeBytes' | 'changedWhileRead'>
>;

/** The attributes of an entry that are not a part of the status of a file. */
export type KeptAttributes = Pick<EntryAttributes, 'xattrs' | 'holes' | 'inodeFlags'>;

const NO_IDS = new Uint8Array(0);

export function buildEntry(
  name: ByteString,
  metadata: SourceMetadata,
  owners: OwnerNames,
  content: EntryContent,
  attributes: KeptAttributes,
): TreeEntry {
  const { type, device, linkCount, birthSeconds, birthNanoseconds } = metadata;
  return {
    name,
    type,
    mode: metadata.mode,
    uid: metadata.uid,
    gid: metadata.gid,
    user: owners.userName(metadata.uid),
    group: owners.groupName(metadata.gid),
    mtimeSeconds: metadata.mtimeSeconds,
    mtimeNanoseconds: metadata.mtimeNanoseconds,
    ctimeSeconds: metadata.ctimeSeconds,
    ctimeNanoseconds: metadata.ctimeNanoseconds,
    inode: metadata.inode,
    sizeBytes: content.sizeBytes ?? 0,
    chunkIds: content.chunkIds ?? NO_IDS,
    treeId: content.treeId,
    linkTarget: content.linkTarget ?? ('' as ByteString),
    deviceMajor: metadata.deviceMajor,
    deviceMinor: metadata.deviceMinor,
    hardlink: linkCount > 1 && type !== 'directory' ? { device, linkCount } : undefined,
    changedWhileRead: content.changedWhileRead ?? false,
    xattrs: attributes.xattrs,
    holes: holesWithin(attributes.holes, content.sizeBytes ?? 0),
    inodeFlags: attributes.inodeFlags,
    birthTime: birthSeconds === undefined ? undefined : { seconds: birthSeconds, nanoseconds: birthNanoseconds },
    extensions: accessTimeExtensions(metadata.accessTime),
  };
}

/** Builds the entry of a source that is neither a file nor a directory. */
export function buildOtherEntry(
  name: ByteString,
  path: ByteString,
  metadata: SourceMetadata,
  owners: OwnerNames,
  attributes: KeptAttributes,
): TreeEntry {
  const content = metadata.type === 'symlink' ? { linkTarget: readLinkTarget(path) } : {};
  return buildEntry(name, metadata, owners, content, attributes);
}

/** The coarsest clock tick of common file systems. A second change within one tick may leave the times as they are. */
const CLOCK_TICK_MS = 50;
/** The tick of file systems whose times have no fraction (FAT, ext3). */
const COARSE_CLOCK_TICK_MS = 2000;

/** What says nothing about the content of a file, because a file system or a program changes it all the time. */
export interface IgnoredChanges {
  readonly ctime: boolean;
  readonly inode: boolean;
}

const NO_IGNORED_CHANGES: IgnoredChanges = { ctime: false, inode: false };

/**
 * Returns whether a file has the same bytes as an entry of an earlier snapshot, without opening it: type, size, times
 * and inode must match, unless they are ignored. A file that changed shortly before that backup read it does not count as unchanged, since it
 * may have changed again within the same clock tick.
 */
export function hasSameContent(
  entry: TreeEntry,
  metadata: SourceMetadata,
  readSinceMs: number,
  ignored: IgnoredChanges = NO_IGNORED_CHANGES,
): boolean {
  return (
    entry.type === 'file' &&
    metadata.type === 'file' &&
    entry.sizeBytes === metadata.sizeBytes &&
    (ignored.ctime ? hasSameModificationTime(entry, metadata) : hasSameTimes(entry, metadata)) &&
    (ignored.inode || entry.inode === metadata.inode) &&
    !entry.changedWhileRead &&
    (ignored.ctime ? isModificationSettled(metadata, readSinceMs) : isSettled(metadata, readSinceMs))
  );
}

/** Returns whether something with the same content has the same entry as before. */
export function isSameEntry(entry: TreeEntry, metadata: SourceMetadata, owners: OwnerNames): boolean {
  return (
    entry.type === metadata.type &&
    entry.mode === metadata.mode &&
    entry.uid === metadata.uid &&
    entry.gid === metadata.gid &&
    entry.user === owners.userName(metadata.uid) &&
    entry.group === owners.groupName(metadata.gid) &&
    hasSameTimes(entry, metadata) &&
    hasSameAccessTime(entry, metadata) &&
    entry.inode === metadata.inode &&
    (metadata.type === 'directory' || hasSameLinks(entry.hardlink, metadata))
  );
}

/** The same for a symlink or special file whose inode and times are those of the entry. */
export function isSameOther(entry: TreeEntry, metadata: SourceMetadata, owners: OwnerNames): boolean {
  // An additional safeguard: some file systems show another size, and their symlinks are read.
  const hasSameSize = entry.type !== 'symlink' || entry.linkTarget.length === metadata.sizeBytes;
  const isSameDevice = entry.deviceMajor === metadata.deviceMajor && entry.deviceMinor === metadata.deviceMinor;
  return hasSameSize && isSameDevice && isSameEntry(entry, metadata, owners);
}

export function hasSameTimes(entry: TreeEntry, metadata: SourceMetadata): boolean {
  return (
    hasSameModificationTime(entry, metadata) &&
    entry.ctimeNanoseconds === metadata.ctimeNanoseconds &&
    entry.ctimeSeconds === metadata.ctimeSeconds
  );
}

/** An entry without an access time is other than one with it, so that a snapshot has all of them, or none. */
function hasSameAccessTime(entry: TreeEntry, { accessTime }: SourceMetadata): boolean {
  const recorded = accessTimeOf(entry);
  return recorded?.seconds === accessTime?.seconds && recorded?.nanoseconds === accessTime?.nanoseconds;
}

function hasSameModificationTime(entry: TreeEntry, { mtimeSeconds, mtimeNanoseconds }: SourceMetadata): boolean {
  return entry.mtimeNanoseconds === mtimeNanoseconds && entry.mtimeSeconds === mtimeSeconds;
}

function hasSameLinks(hardlink: TreeEntry['hardlink'], { device, linkCount }: SourceMetadata): boolean {
  return hardlink === undefined ? linkCount === 1 : hardlink.linkCount === linkCount && hardlink.device === device;
}

/** Whether the last change was at least one clock tick before the time, so that another one would show. */
export function isSettled(metadata: SourceMetadata, readSinceMs: number): boolean {
  return isTickBefore(metadata.ctimeSeconds, metadata.ctimeNanoseconds, readSinceMs);
}

function isModificationSettled({ mtimeSeconds, mtimeNanoseconds }: SourceMetadata, readSinceMs: number): boolean {
  return isTickBefore(mtimeSeconds, mtimeNanoseconds, readSinceMs);
}

function isTickBefore(seconds: number, nanoseconds: number, timeMs: number): boolean {
  const tickMs = nanoseconds === 0 ? COARSE_CLOCK_TICK_MS : CLOCK_TICK_MS;
  return seconds * 1000 + nanoseconds / 1e6 < timeMs - tickMs;
}
