import { bufferOver } from '../byte-reader.ts';
import { CHUNK_ID_BYTES, TREE_FILE_BYTES } from '../constants.ts';
import { checkTree } from './tree-check.ts';
import type { AllocateTree } from './tree-encoder.ts';
import { ENTRY_OFFSETS, TYPE_DIRECTORY, TYPE_FILE } from './tree-entry.ts';
import { readSize } from './tree-numbers.ts';

/** The ids that the content of a tree has in another repository. */
interface IdsOfCopy {
  /** Returns the id of the copy of a tree. */
  treeId(id: Buffer): Uint8Array;
  /** Returns the ids of the chunks of a file, of which there may be more or fewer. Used before the next call. */
  chunkIds(ids: Buffer): Uint8Array;
}

/** Where the parts of an entry are that a copy does not share. `idsStart` and `idsEnd` are equal if it has none. */
interface EntryPlace {
  readonly start: number;
  readonly end: number;
  readonly type: number;
  readonly idsStart: number;
  readonly idsEnd: number;
}

/** An offset in a file entry, from the start of its ids. */
const CHUNK_COUNT = -4;

/** `memory` is allocated and begins with `bytes`. */
interface RewrittenTree {
  readonly bytes: Buffer;
  readonly memory: Buffer;
}

/**
 * Returns a tree with other ids. Everything else stays as it is, byte for byte.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function rewriteTree(bytes: Uint8Array, ids: IdsOfCopy, allocate: AllocateTree): RewrittenTree {
  const tree = bufferOver(bytes);
  const { firstEntry } = checkTree(tree, 'tree');
  let memory = allocate(tree.length);
  tree.copy(memory, 0, 0, firstEntry);
  let end = firstEntry;
  for (let offset = firstEntry; offset < tree.length;) {
    const place = placeAt(tree, offset);
    const newIds = newIdsOf(tree, place, ids);
    const moreBytes = newIds.length - (place.idsEnd - place.idsStart);
    const neededBytes = end + (tree.length - offset) + moreBytes;
    if (neededBytes > memory.length) memory = enlarge(memory, end, allocate(Math.ceil(1.5 * neededBytes)));
    end = writeEntry(memory, end, { tree, place, newIds });
    offset = place.end;
  }
  return { bytes: memory.subarray(0, end), memory };
}

/** Visits what an entry of a tree and that of its copy refer to. */
interface CounterpartVisitor {
  /** The ids of a subtree and of its copy. */
  tree(id: Buffer, copyId: Buffer): void;
  /** The ids of the chunks of a file and of its copy. */
  file(ids: Buffer, copyIds: Buffer, sizeBytes: number): void;
}

/**
 * Compares a tree with its copy. Returns false if they differ in more than ids; the visitor may have been called by
 * then.
 * @throws as `rewriteTree`
 */
export function forEachCounterpart(bytes: Uint8Array, copyBytes: Uint8Array, visitor: CounterpartVisitor): boolean {
  const tree = bufferOver(bytes);
  const copy = bufferOver(copyBytes);
  let { firstEntry: offset } = checkTree(tree, 'tree');
  let { firstEntry: copyOffset } = checkTree(copy, 'tree');
  if (!isSame(tree, 0, offset, copy, 0, copyOffset)) return false;
  while (offset < tree.length) {
    const place = placeAt(tree, offset);
    const copyPlace = placeAt(copy, copyOffset);
    if (!isSameBesidesIds(tree, place, copy, copyPlace)) return false;
    const ids = tree.subarray(place.idsStart, place.idsEnd);
    const copyIds = copy.subarray(copyPlace.idsStart, copyPlace.idsEnd);
    if (place.type === TYPE_DIRECTORY) visitor.tree(ids, copyIds);
    if (place.type === TYPE_FILE) visitor.file(ids, copyIds, readSize(tree, place.idsStart - TREE_FILE_BYTES));
    offset = place.end;
    copyOffset = copyPlace.end;
  }
  return true;
}

function placeAt(tree: Buffer, start: number): EntryPlace {
  const type = tree[start + ENTRY_OFFSETS.type]!;
  const end = start + tree.readUInt32LE(start);
  const nameEnd = start + ENTRY_OFFSETS.name + tree.readUInt16LE(start + ENTRY_OFFSETS.nameBytes);
  if (type === TYPE_DIRECTORY) return { start, end, type, idsStart: nameEnd, idsEnd: nameEnd + CHUNK_ID_BYTES };
  if (type !== TYPE_FILE) return { start, end, type, idsStart: nameEnd, idsEnd: nameEnd };
  const idsStart = nameEnd + TREE_FILE_BYTES;
  return { start, end, type, idsStart, idsEnd: idsStart + tree.readUInt32LE(idsStart + CHUNK_COUNT) * CHUNK_ID_BYTES };
}

const NO_IDS = new Uint8Array(0);

function newIdsOf(tree: Buffer, { type, idsStart, idsEnd }: EntryPlace, ids: IdsOfCopy): Uint8Array {
  if (idsStart === idsEnd) return NO_IDS;
  const old = tree.subarray(idsStart, idsEnd);
  return type === TYPE_DIRECTORY ? ids.treeId(old) : ids.chunkIds(old);
}

/** Returns the end of the entry in `memory`. */
function writeEntry(
  memory: Buffer,
  start: number,
  { tree, place, newIds }: { readonly tree: Buffer; readonly place: EntryPlace; readonly newIds: Uint8Array },
): number {
  const idsStart = start + place.idsStart - place.start;
  const idsEnd = idsStart + newIds.length;
  tree.copy(memory, start, place.start, place.idsStart);
  memory.set(newIds, idsStart);
  tree.copy(memory, idsEnd, place.idsEnd, place.end);
  const end = idsEnd + place.end - place.idsEnd;
  memory.writeUInt32LE(end - start, start);
  if (place.type === TYPE_FILE) memory.writeUInt32LE(newIds.length / CHUNK_ID_BYTES, idsStart + CHUNK_COUNT);
  return end;
}

function enlarge(memory: Buffer, usedBytes: number, larger: Buffer): Buffer {
  memory.copy(larger, 0, 0, usedBytes);
  return larger;
}

/** Everything but the ids, their number and the length of the entry that follows from it. */
function isSameBesidesIds(tree: Buffer, place: EntryPlace, copy: Buffer, copyPlace: EntryPlace): boolean {
  if (place.type !== copyPlace.type) return false;
  const countBytes = place.type === TYPE_FILE ? -CHUNK_COUNT : 0;
  return (
    isSame(
      tree,
      place.start + ENTRY_OFFSETS.type,
      place.idsStart - countBytes,
      copy,
      copyPlace.start + ENTRY_OFFSETS.type,
      copyPlace.idsStart - countBytes,
    ) && isSame(tree, place.idsEnd, place.end, copy, copyPlace.idsEnd, copyPlace.end)
  );
}

function isSame(
  left: Buffer,
  leftStart: number,
  leftEnd: number,
  right: Buffer,
  rightStart: number,
  rightEnd: number,
): boolean {
  return left.compare(right, rightStart, rightEnd, leftStart, leftEnd) === 0;
}
