import type { TreeEntry } from '../format/tree/tree.ts';
import { byteStringFromBytes } from '../util/byte-string.ts';

/**
 * Returns a key that the names of one file with several names share; undefined if it has one name. A file that changed
 * between the reading of two of its names, or whose number was given to another file, has two contents under one number:
 * those are two files, because a link would lose one of them.
 */
export function sameFileKey(entry: TreeEntry): string | undefined {
  const { type, inode, hardlink, deviceMajor, deviceMinor, linkTarget, chunkIds } = entry;
  if (hardlink === undefined) return undefined;
  // Only a symlink has a target, and only a file has chunks.
  const content = `${linkTarget}${byteStringFromBytes(chunkIds)}`;
  return [hardlink.device, inode, type, deviceMajor, deviceMinor, content].join(':');
}
