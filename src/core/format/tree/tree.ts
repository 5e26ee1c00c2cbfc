import type { ByteString } from '../../util/byte-string.ts';
import { bufferOver } from '../byte-reader.ts';
import { TREE_HEADER_BYTES, TREE_OWNER_BYTES } from '../constants.ts';
import { EncodedEntry } from './encoded-entry.ts';
import type { EntryOwner } from './encoded-entry.ts';
import { checkTree } from './tree-check.ts';
import { ENTRY_OFFSETS, ENTRY_TYPES } from './tree-entry.ts';
import type { EntryType, TreeEntry } from './tree-entry.ts';
import { textOf } from './tree-numbers.ts';

export { TreeEncoder, encodeTree } from './tree-encoder.ts';
export type { EncodedTree } from './tree-encoder.ts';
export { forEachChild, forEachFile, forEachRemoved } from './tree-visits.ts';
export type { EntryType, TreeEntry } from './tree-entry.ts';

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
  readonly #owners: readonly EntryOwner[];
  readonly #firstEntry: number;
  #offset: number;
  /** The last name that was searched for. */
  #sought = '' as ByteString;
  /** Where each entry begins, and each one of a type, once a page of them was read. */
  readonly #begins = new Map<EntryType | undefined, Uint32Array>();

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
    return this.nextEncoded()?.decode();
  }

  /** Like `next`, for a caller that needs only a few fields. The entry uses the bytes of the tree. */
  nextEncoded(): EncodedEntry | undefined {
    const offset = this.#offset;
    if (offset === this.#tree.length) return undefined;
    this.#offset += this.#tree.readUInt32LE(offset);
    return this.#entryAt(offset);
  }

  /**
   * Returns the entry with a name, or undefined. Fast if names are searched for in byte order. Must not be mixed with
   * `next`. The entry uses the bytes of the tree.
   */
  find(name: ByteString): EncodedEntry | undefined {
    if (name < this.#sought) this.#offset = this.#firstEntry;
    this.#sought = name;
    while (this.#offset < this.#tree.length) {
      const order = compareNameAt(this.#tree, this.#offset, name);
      if (order === 0) return this.#entryAt(this.#offset);
      if (order > 0) return undefined;
      this.#offset += this.#tree.readUInt32LE(this.#offset);
    }
    return undefined;
  }

  /**
   * Returns up to `limit` entries from the one with the number `from`, and how many there are. With `type`, others are
   * not counted. Independent of `next`.
   */
  page(
    from: number,
    limit: number,
    type?: EntryType,
  ): { readonly entries: readonly TreeEntry[]; readonly total: number } {
    const begins = this.#begins.get(type) ?? this.#beginsOf(type);
    this.#begins.set(type, begins);
    const entries = [...begins.subarray(from, from + limit)].map((offset) => this.#entryAt(offset).decode());
    return { entries, total: begins.length };
  }

  #beginsOf(type: EntryType | undefined): Uint32Array {
    const code = type === undefined ? undefined : ENTRY_TYPES.indexOf(type) + 1;
    const begins: number[] = [];
    for (let at = this.#firstEntry; at < this.#tree.length; at += this.#tree.readUInt32LE(at)) {
      if (code === undefined || this.#tree[at + ENTRY_OFFSETS.type] === code) begins.push(at);
    }
    return Uint32Array.from(begins);
  }

  #entryAt(offset: number): EncodedEntry {
    const owner = this.#owners[this.#tree.readUInt32LE(offset + ENTRY_OFFSETS.owner)]!;
    return new EncodedEntry(this.#tree, offset, owner);
  }
}

/**
 * Returns a negative number if the entry at `offset` sorts before `name`, a positive number if it sorts after it, else
 * 0.
 */
export function compareNameAt(tree: Buffer, offset: number, name: ByteString): number {
  const start = offset + ENTRY_OFFSETS.name;
  const nameBytes = tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
  const common = Math.min(nameBytes, name.length);
  for (let i = 0; i < common; i++) {
    const difference = tree[start + i]! - name.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return nameBytes - name.length;
}

/** Returns the owners that the entries of a checked tree refer to. `end`: where the first entry starts. */
export function readOwners(tree: Buffer, end: number): EntryOwner[] {
  const owners: EntryOwner[] = [];
  let offset = TREE_HEADER_BYTES;
  while (offset < end) {
    const user = offset + TREE_OWNER_BYTES;
    const group = user + tree[offset + 8]!;
    const next = group + tree[offset + 9]!;
    owners.push({
      uid: tree.readUInt32LE(offset),
      gid: tree.readUInt32LE(offset + 4),
      user: textOf(tree, user, group),
      group: textOf(tree, group, next),
    });
    offset = next;
  }
  return owners;
}
