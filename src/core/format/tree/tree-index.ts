import type { ByteString } from '../../util/byte-string.ts';
import { bufferOver } from '../byte-reader.ts';
import { EncodedEntry } from './encoded-entry.ts';
import type { EntryOwner } from './encoded-entry.ts';
import { checkTree } from './tree-check.ts';
import { compareNameAt, readOwners } from './tree.ts';
import { ENTRY_OFFSETS } from './tree-entry.ts';

/**
 * The entries of a directory by number and by name, in any order. Takes 4 bytes for each entry besides the tree. Entries
 * use the bytes of the tree.
 */
export class TreeIndex {
  readonly #tree: Buffer;
  readonly #owners: readonly EntryOwner[];
  /** Where each entry starts. */
  readonly #offsets: Uint32Array;

  /**
   * Checks the whole tree.
   * @throws CorruptDataError
   * @throws UnsupportedFormatError if the version is unknown
   */
  constructor(bytes: Uint8Array) {
    const tree = bufferOver(bytes);
    const { firstEntry, entryCount } = checkTree(tree, 'tree');
    this.#tree = tree;
    this.#owners = readOwners(tree, firstEntry);
    this.#offsets = new Uint32Array(entryCount);
    for (let index = 0, offset = firstEntry; index < entryCount; index += 1) {
      this.#offsets[index] = offset;
      offset += tree.readUInt32LE(offset);
    }
  }

  get count(): number {
    return this.#offsets.length;
  }

  /** Returns the entry at a position in byte order. */
  at(index: number): EncodedEntry {
    const offset = this.#offsets[index]!;
    return new EncodedEntry(this.#tree, offset, this.#owners[this.#tree.readUInt32LE(offset + ENTRY_OFFSETS.owner)]!);
  }

  /** Returns the position of the entry with a name, or -1. */
  indexOf(name: ByteString): number {
    let low = 0;
    let high = this.#offsets.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const order = compareNameAt(this.#tree, this.#offsets[middle]!, name);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}
