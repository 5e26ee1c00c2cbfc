import {
  EXTENSION_BIRTH_TIME,
  EXTENSION_EXTENDED_ATTRIBUTES,
  EXTENSION_HOLE_MAP,
  EXTENSION_INODE_FLAGS,
  MAX_NAME_BYTES,
  TREE_BIRTH_TIME_BYTES,
  TREE_HOLE_BYTES,
  TREE_INODE_FLAGS_BYTES,
  TREE_XATTR_BYTES,
} from '../constants.ts';
import { TYPE_DIRECTORY, TYPE_FILE } from './tree-entry.ts';
import { isSize, readSeconds, readSize } from './tree-numbers.ts';

const MAX_NANOSECONDS = 999_999_999;

/**
 * Describes the first problem with the content of an extension, from `start` to `end`, of an entry of the given type;
 * undefined if there is none, or if the extension is of an unknown type.
 */
export function problemOfExtension(
  tree: Buffer,
  extension: number,
  start: number,
  end: number,
  entryType: number,
): string | undefined {
  if (extension === EXTENSION_EXTENDED_ATTRIBUTES) return problemOfXattrs(tree, start, end);
  if (extension === EXTENSION_HOLE_MAP) {
    return entryType === TYPE_FILE ? problemOfHoles(tree, start, end) : 'has holes, but is not a file';
  }
  if (extension === EXTENSION_INODE_FLAGS) {
    const canHave = entryType === TYPE_FILE || entryType === TYPE_DIRECTORY;
    const isWhole = end - start === TREE_INODE_FLAGS_BYTES && tree.readUInt32LE(start) !== 0;
    return canHave && isWhole ? undefined : 'has invalid inode flags';
  }
  if (extension === EXTENSION_BIRTH_TIME) {
    const isValid =
      end - start === TREE_BIRTH_TIME_BYTES &&
      Number.isSafeInteger(readSeconds(tree, start)) &&
      tree.readUInt32LE(start + 8) <= MAX_NANOSECONDS;
    return isValid ? undefined : 'has an invalid birth time';
  }
  return undefined;
}

function problemOfXattrs(tree: Buffer, start: number, end: number): string | undefined {
  let previous: Buffer | undefined;
  let at = start;
  do {
    if (end - at < TREE_XATTR_BYTES) return 'has an incomplete extended attribute';
    const nameBytes = tree.readUInt16LE(at);
    const valueBytes = tree.readUInt32LE(at + 2);
    at += TREE_XATTR_BYTES;
    if (nameBytes + valueBytes > end - at) return 'has an incomplete extended attribute';
    const name = tree.subarray(at, at + nameBytes);
    if (nameBytes < 1 || nameBytes > MAX_NAME_BYTES || name.includes(0)) return 'has an invalid name of an attribute';
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) return 'has extended attributes out of order';
    previous = name;
    at += nameBytes + valueBytes;
  } while (at < end);
  return undefined;
}

function problemOfHoles(tree: Buffer, start: number, end: number): string | undefined {
  if (start === end || (end - start) % TREE_HOLE_BYTES !== 0) return 'has an incomplete hole';
  let previousEnd = -1;
  for (let at = start; at < end; at += TREE_HOLE_BYTES) {
    if (!isSize(tree, at) || !isSize(tree, at + 8)) return 'has an invalid hole';
    const holeStart = readSize(tree, at);
    const lengthBytes = readSize(tree, at + 8);
    if (lengthBytes === 0 || holeStart <= previousEnd) return 'has holes out of order';
    previousEnd = holeStart + lengthBytes;
  }
  return undefined;
}

/** Returns where the last hole ends, from the end of a hole map without problems. */
export function lastHoleEnd(tree: Buffer, end: number): number {
  return readSize(tree, end - TREE_HOLE_BYTES) + readSize(tree, end - 8);
}
