import { bufferOver } from '../byte-reader.ts';
import type { ChunkKind } from '../chunk-kind.ts';
import { CHUNK_ID_BYTES, TREE_FILE_BYTES } from '../constants.ts';
import { checkTree } from './tree-check.ts';
import { ENTRY_OFFSETS, TYPE_DIRECTORY, TYPE_FILE } from './tree-entry.ts';
import { readSize } from './tree-numbers.ts';

const NO_TREE = Buffer.alloc(0);

/**
 * Visits the ids of the children of a directory: for each entry its subtree or its chunks, including duplicates.
 * Reference counts are counts of these visits. A damaged tree throws before the first visit.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function forEachChild(
  bytes: Uint8Array,
  visit: (kind: ChunkKind, idOffset: number) => void,
  what = 'tree',
): void {
  const tree = bufferOver(bytes);
  const { firstEntry, entryCount } = checkTree(tree, what);
  let offset = firstEntry;
  for (let i = 0; i < entryCount; i++) {
    const type = tree[offset + ENTRY_OFFSETS.type];
    const content = offset + ENTRY_OFFSETS.name + tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
    if (type === TYPE_DIRECTORY) {
      visit('tree', content);
    } else if (type === TYPE_FILE) {
      const ids = content + TREE_FILE_BYTES;
      const idsEnd = ids + tree.readUInt32LE(content + 8) * CHUNK_ID_BYTES;
      for (let id = ids; id < idsEnd; id += CHUNK_ID_BYTES) visit('data', id);
    }
    offset += tree.readUInt32LE(offset);
  }
}

/**
 * Visits the files of a directory with their size and the range of their chunk ids in `bytes`.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function forEachFile(
  bytes: Uint8Array,
  visit: (sizeBytes: number, idsStart: number, idsEnd: number) => void,
  what = 'tree',
): void {
  const tree = bufferOver(bytes);
  const { firstEntry, entryCount } = checkTree(tree, what);
  let offset = firstEntry;
  for (let i = 0; i < entryCount; i++) {
    if (tree[offset + ENTRY_OFFSETS.type] === TYPE_FILE) {
      const content = offset + ENTRY_OFFSETS.name + tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
      const ids = content + TREE_FILE_BYTES;
      visit(readSize(tree, content), ids, ids + tree.readUInt32LE(content + 8) * CHUNK_ID_BYTES);
    }
    offset += tree.readUInt32LE(offset);
  }
}

/**
 * Visits the files and directories of a tree that a later tree of the same directory lacks or has with another type.
 * `visit` gets the id of a directory's tree, and undefined and the chunk ids for a file. Without `after`, it visits all of
 * them.
 * @throws as `forEachFile`
 */
export function forEachRemoved(
  before: Buffer,
  after: Buffer | undefined,
  visit: (treeId: Uint8Array | undefined, chunkIds: Uint8Array) => void,
): void {
  const { firstEntry, entryCount } = checkTree(before, 'tree');
  const now = after ?? NO_TREE;
  let offset = firstEntry;
  let later = after === undefined ? 0 : checkTree(now, 'tree').firstEntry;
  for (let i = 0; i < entryCount; i++) {
    const type = before[offset + ENTRY_OFFSETS.type];
    let order = -1;
    for (; later < now.length; later += now.readUInt32LE(later)) {
      order = compareNames(before, offset, now, later);
      if (order <= 0) break;
    }
    const isKept = order === 0 && later < now.length && now[later + ENTRY_OFFSETS.type] === type;
    const content = endOfName(before, offset);
    if (!isKept && type === TYPE_FILE) {
      const ids = content + TREE_FILE_BYTES;
      visit(undefined, before.subarray(ids, ids + before.readUInt32LE(content + 8) * CHUNK_ID_BYTES));
    }
    if (!isKept && type === TYPE_DIRECTORY) visit(before.subarray(content, content + CHUNK_ID_BYTES), NO_TREE);
    offset += before.readUInt32LE(offset);
  }
}

/** Compares the names of two entries by their bytes. */
function compareNames(left: Buffer, leftEntry: number, right: Buffer, rightEntry: number): number {
  const rightName = rightEntry + ENTRY_OFFSETS.name;
  const leftName = leftEntry + ENTRY_OFFSETS.name;
  return left.compare(right, rightName, endOfName(right, rightEntry), leftName, endOfName(left, leftEntry));
}

function endOfName(tree: Buffer, entry: number): number {
  return entry + ENTRY_OFFSETS.name + tree.readUInt16LE(entry + ENTRY_OFFSETS.nameBytes);
}
