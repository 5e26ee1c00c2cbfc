import type { OwnerNames } from '../../files/owner-names.ts';
import { readLinkTarget } from '../../files/source-files.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** What an entry has besides its metadata. */
export type EntryContent = Partial<
  Pick<TreeEntry, 'chunkIds' | 'treeId' | 'linkTarget' | 'sizeBytes' | 'changedWhileRead'>
>;

const NO_IDS = new Uint8Array(0);

export function buildEntry(
  name: ByteString,
  metadata: SourceMetadata,
  owners: OwnerNames,
  content: EntryContent,
): TreeEntry {
  const { type, device, linkCount } = metadata;
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
    extensions: [],
  };
}

/** Of something that has no content to be read: neither a file nor a directory. */
export function buildOtherEntry(
  name: ByteString,
  path: ByteString,
  metadata: SourceMetadata,
  owners: OwnerNames,
): TreeEntry {
  return buildEntry(name, metadata, owners, metadata.type === 'symlink' ? { linkTarget: readLinkTarget(path) } : {});
}

/** The file systems' coarsest clock tick: a change within it can leave no trace in the times. */
const CLOCK_TICK_MS = 50;
/** Where times have no fraction at all (FAT, ext3). */
const COARSE_CLOCK_TICK_MS = 2000;

/**
 * Whether a file's bytes are those of an entry of an earlier snapshot, without opening it: same type, size, times and
 * inode. A file that changed about when that backup read it is not trusted, since it may have changed once more
 * within one tick of the clock.
 */
export function hasSameContent(entry: TreeEntry, metadata: SourceMetadata, readSinceMs: number): boolean {
  return (
    entry.type === 'file' &&
    metadata.type === 'file' &&
    entry.sizeBytes === metadata.sizeBytes &&
    entry.mtimeNanoseconds === metadata.mtimeNanoseconds &&
    entry.ctimeNanoseconds === metadata.ctimeNanoseconds &&
    entry.mtimeSeconds === metadata.mtimeSeconds &&
    entry.ctimeSeconds === metadata.ctimeSeconds &&
    entry.inode === metadata.inode &&
    !entry.changedWhileRead &&
    isSettled(metadata, readSinceMs)
  );
}

/** Whether everything that an entry records of a file, bytes included, is as it was. */
export function isSameEntry(entry: TreeEntry, metadata: SourceMetadata): boolean {
  return (
    entry.mode === metadata.mode &&
    entry.uid === metadata.uid &&
    entry.gid === metadata.gid &&
    (entry.hardlink?.linkCount ?? 1) === metadata.linkCount &&
    (entry.hardlink === undefined || entry.hardlink.device === metadata.device)
  );
}

function isSettled(metadata: SourceMetadata, readSinceMs: number): boolean {
  const { ctimeSeconds, ctimeNanoseconds } = metadata;
  const tickMs = ctimeNanoseconds === 0 ? COARSE_CLOCK_TICK_MS : CLOCK_TICK_MS;
  return ctimeSeconds * 1000 + ctimeNanoseconds / 1e6 < readSinceMs - tickMs;
}
