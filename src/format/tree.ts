import { byteStringFromText } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import { bufferOver } from './byte-reader.ts';
import {
  CHUNK_ID_BYTES,
  TREE_DEVICE_BYTES,
  TREE_EXTENSION_BYTES,
  TREE_FILE_BYTES,
  TREE_HARDLINK_BYTES,
  TREE_HEADER_BYTES,
  TREE_LINK_BYTES,
  TREE_OWNER_BYTES,
} from './constants.ts';
import { checkTree, readSeconds } from './tree-check.ts';
import { ENTRY_OFFSETS, ENTRY_TYPES, FLAG_CHANGED_WHILE_READ, FLAG_HARDLINK } from './tree-entry.ts';
import type { EntryExtension, EntryType, TreeEntry } from './tree-entry.ts';
import { readSize } from './tree-visits.ts';

export { TreeEncoder, encodeTree } from './tree-encoder.ts';
export type { EncodedTree } from './tree-encoder.ts';
export { forEachChild, forEachFile, forEachRemoved } from './tree-visits.ts';
export type { EntryType, TreeEntry } from './tree-entry.ts';

const NO_BYTES = new Uint8Array(0);
const NO_EXTENSIONS: readonly EntryExtension[] = [];
const NO_NAME = byteStringFromText('');

/**
 * Decodes all entries of a directory. Ids and extensions are views of `bytes`.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeTree(bytes: Uint8Array, what = 'tree'): TreeEntry[] {
  const reader = new TreeReader(bytes, what);
  const entries: TreeEntry[] = [];
  for (let entry = reader.next(); entry !== undefined; entry = reader.next()) entries.push(entry);
  return entries;
}

/**
 * Decodes the entries of a directory one at a time, because a million decoded entries take 400 MB. The entries are like
 * those of `decodeTree`.
 */
export class TreeReader {
  readonly #tree: Buffer;
  readonly #owners: readonly Owner[];
  readonly #firstEntry: number;
  #offset: number;
  /** The last name that was searched for. */
  #sought = NO_NAME;

  /**
   * Checks the whole tree.
   * @throws as `decodeTree`
   */
  constructor(bytes: Uint8Array, what = 'tree') {
    this.#tree = bufferOver(bytes);
    const { firstEntry } = checkTree(this.#tree, what);
    this.#owners = readOwners(this.#tree, firstEntry);
    this.#firstEntry = firstEntry;
    this.#offset = firstEntry;
  }

  /** Returns the next entry, or undefined after the last one. */
  next(): TreeEntry | undefined {
    const offset = this.#offset;
    if (offset === this.#tree.length) return undefined;
    this.#offset += this.#tree.readUInt32LE(offset);
    return readEntry(this.#tree, offset, this.#owners);
  }

  /**
   * Returns the entry with a name, or undefined. Fast if names are searched for in byte order. Must not be mixed with
   * `next`.
   */
  find(name: ByteString): TreeEntry | undefined {
    if (name < this.#sought) this.#offset = this.#firstEntry;
    this.#sought = name;
    while (this.#offset < this.#tree.length) {
      const order = compareNameAt(this.#tree, this.#offset, name);
      if (order === 0) return readEntry(this.#tree, this.#offset, this.#owners);
      if (order > 0) return undefined;
      this.#offset += this.#tree.readUInt32LE(this.#offset);
    }
    return undefined;
  }
}

/**
 * Returns a negative number if the entry at `offset` sorts before `name`, a positive number if it sorts after it, else
 * 0.
 */
function compareNameAt(tree: Buffer, offset: number, name: ByteString): number {
  const start = offset + ENTRY_OFFSETS.name;
  const nameBytes = tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
  const common = Math.min(nameBytes, name.length);
  for (let i = 0; i < common; i++) {
    const difference = tree[start + i]! - name.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return nameBytes - name.length;
}

type Owner = Pick<TreeEntry, 'uid' | 'gid' | 'user' | 'group'>;

function readOwners(tree: Buffer, end: number): Owner[] {
  const owners: Owner[] = [];
  let offset = TREE_HEADER_BYTES;
  while (offset < end) {
    const user = offset + TREE_OWNER_BYTES;
    const group = user + tree[offset + 8]!;
    const next = group + tree[offset + 9]!;
    owners.push({
      uid: tree.readUInt32LE(offset),
      gid: tree.readUInt32LE(offset + 4),
      user: text(tree, user, group),
      group: text(tree, group, next),
    });
    offset = next;
  }
  return owners;
}

function readEntry(tree: Buffer, offset: number, owners: readonly Owner[]): TreeEntry {
  const flags = tree[offset + ENTRY_OFFSETS.flags]!;
  const name = offset + ENTRY_OFFSETS.name;
  const nameEnd = name + tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
  const type = ENTRY_TYPES[tree[offset + ENTRY_OFFSETS.type]! - 1]!;
  const owner = owners[tree.readUInt32LE(offset + ENTRY_OFFSETS.owner)]!;
  const isFile = type === 'file';
  const isDevice = type === 'character-device' || type === 'block-device';
  const contentEnd = endOfContent(tree, type, nameEnd);
  const isHardlink = (flags & FLAG_HARDLINK) !== 0;
  const extensions = isHardlink ? contentEnd + TREE_HARDLINK_BYTES : contentEnd;
  return {
    name: text(tree, name, nameEnd),
    type,
    mode: tree.readUInt16LE(offset + ENTRY_OFFSETS.mode),
    uid: owner.uid,
    gid: owner.gid,
    user: owner.user,
    group: owner.group,
    mtimeSeconds: readSeconds(tree, offset + ENTRY_OFFSETS.mtimeSeconds),
    mtimeNanoseconds: tree.readUInt32LE(offset + ENTRY_OFFSETS.mtimeNanoseconds),
    ctimeSeconds: readSeconds(tree, offset + ENTRY_OFFSETS.ctimeSeconds),
    ctimeNanoseconds: tree.readUInt32LE(offset + ENTRY_OFFSETS.ctimeNanoseconds),
    inode: tree.readBigUInt64LE(offset + ENTRY_OFFSETS.inode),
    sizeBytes: isFile ? readSize(tree, nameEnd) : 0,
    chunkIds: isFile ? viewOf(tree, nameEnd + TREE_FILE_BYTES, contentEnd) : NO_BYTES,
    treeId: type === 'directory' ? viewOf(tree, nameEnd, contentEnd) : undefined,
    linkTarget: type === 'symlink' ? text(tree, nameEnd + TREE_LINK_BYTES, contentEnd) : NO_NAME,
    deviceMajor: isDevice ? tree.readUInt32LE(nameEnd) : 0,
    deviceMinor: isDevice ? tree.readUInt32LE(nameEnd + 4) : 0,
    hardlink: isHardlink
      ? { device: tree.readBigUInt64LE(contentEnd), linkCount: tree.readUInt32LE(contentEnd + 8) }
      : undefined,
    changedWhileRead: (flags & FLAG_CHANGED_WHILE_READ) !== 0,
    extensions: readExtensions(tree, extensions, offset + tree.readUInt32LE(offset)),
  };
}

/** End offset of the type-specific part. */
function endOfContent(tree: Buffer, type: EntryType, start: number): number {
  switch (type) {
    case 'file':
      return start + TREE_FILE_BYTES + tree.readUInt32LE(start + 8) * CHUNK_ID_BYTES;
    case 'directory':
      return start + CHUNK_ID_BYTES;
    case 'symlink':
      return start + TREE_LINK_BYTES + tree.readUInt16LE(start);
    case 'character-device':
    case 'block-device':
      return start + TREE_DEVICE_BYTES;
    default:
      return start;
  }
}

function readExtensions(tree: Buffer, start: number, end: number): readonly EntryExtension[] {
  if (start === end) return NO_EXTENSIONS;
  const extensions: EntryExtension[] = [];
  let offset = start;
  while (offset < end) {
    const content = offset + TREE_EXTENSION_BYTES;
    const next = content + tree.readUInt32LE(offset + 4);
    extensions.push({ type: tree.readUInt16LE(offset), bytes: viewOf(tree, content, next) });
    offset = next;
  }
  return extensions;
}

/** Like `subarray`, but without creating a Buffer, which takes several times as long. */
function viewOf(tree: Buffer, start: number, end: number): Uint8Array {
  return new Uint8Array(tree.buffer, tree.byteOffset + start, end - start);
}

function text(tree: Buffer, start: number, end: number): ByteString {
  return start === end ? NO_NAME : (tree.toString('latin1', start, end) as ByteString);
}
