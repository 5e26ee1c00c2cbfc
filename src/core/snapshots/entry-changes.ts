import { isDeepStrictEqual } from 'node:util';
import type { TreeEntry } from '../format/tree/tree.ts';
import { byteStringFromBytes } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';

/** `T`: the type; `M`: the content; `U`: only metadata, such as mode, owner, modification time or attributes. */
export type EntryChange = 'T' | 'M' | 'U';

/** Returns how two entries with the same path differ. What a restore cannot set, such as the inode, does not count. */
export function changeOf(before: TreeEntry, after: TreeEntry): EntryChange | undefined {
  if (before.type !== after.type) return 'T';
  if (!hasSameContent(before, after)) return 'M';
  return hasSameMetadata(before, after) && hasSameAttributes(before, after) ? undefined : 'U';
}

/** Compares files, symlinks and devices of the same type. A directory has no content of its own. */
function hasSameContent(a: TreeEntry, b: TreeEntry): boolean {
  return (
    a.sizeBytes === b.sizeBytes &&
    hasSameTarget(a, b) &&
    (a.type !== 'file' || Buffer.compare(a.chunkIds, b.chunkIds) === 0)
  );
}

/** Compares the targets of symlinks and the numbers of devices. */
export function hasSameTarget(a: TreeEntry, b: TreeEntry): boolean {
  return a.linkTarget === b.linkTarget && a.deviceMajor === b.deviceMajor && a.deviceMinor === b.deviceMinor;
}

/** Compares mode, owner and modification time. */
export function hasSameMetadata(a: TreeEntry, b: TreeEntry): boolean {
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid && hasSameTime(a, b);
}

export function hasSameTime(a: TreeEntry, b: TreeEntry): boolean {
  return a.mtimeSeconds === b.mtimeSeconds && a.mtimeNanoseconds === b.mtimeNanoseconds;
}

function hasSameAttributes(a: TreeEntry, b: TreeEntry): boolean {
  return (
    a.user === b.user &&
    a.group === b.group &&
    a.inodeFlags === b.inodeFlags &&
    hasSameXattrs(a, b) &&
    isDeepStrictEqual(a.extensions, b.extensions)
  );
}

/** Compares extended attributes. `includes`: whether one with this name is compared. */
export function hasSameXattrs(a: TreeEntry, b: TreeEntry, includes?: (name: ByteString) => boolean): boolean {
  if (a.xattrs.length + b.xattrs.length === 0) return true;
  const compared = ({ xattrs }: TreeEntry): readonly (readonly [ByteString, string])[] =>
    xattrs
      .filter(({ name }) => includes?.(name) !== false)
      .map(({ name, value }) => [name, byteStringFromBytes(value)] as const);
  return isDeepStrictEqual(compared(a), compared(b));
}

const NO_CHUNKS = new Uint8Array(0);

/**
 * Copies an entry without its chunk ids, which take 20 bytes for each MiB of the file. A view of its tree would keep the
 * whole tree in memory.
 */
export function detachedEntry(entry: TreeEntry): TreeEntry {
  return {
    ...entry,
    chunkIds: NO_CHUNKS,
    treeId: entry.treeId?.slice(),
    xattrs: entry.xattrs.map(({ name, value }) => ({ name, value: value.slice() })),
    extensions: entry.extensions.map(({ type, bytes }) => ({ type, bytes: bytes.slice() })),
  };
}
