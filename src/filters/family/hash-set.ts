import { byteStringFromBytes } from '../../core/util/byte-string.ts';
import { decodeIds, encodeIds } from './id-list.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';
import { checkSaved } from './saved-filter.ts';

/**
 * A V8 Set holds at most 2^24 entries, and deleted ones count until it is rehashed. Half of that limit allows any
 * number of deletions and additions.
 */
const SET_ENTRIES_MAX = 2 ** 23;
const STRING_HEADER_BYTES = 16;
/** A Set allocates a power of two of entries of 16 bytes, and half as many buckets of 8 bytes. */
const SET_ENTRY_BYTES = 20;

/**
 * The exact baseline in memory: JavaScript Sets with one string per id. FPR 0; adding an id twice stores it once.
 * Memory: about 40 + 20 to 40 bytes for an id of 20 bytes.
 */
export class HashSetFilter implements ErasableFilter, MergeableFilter<HashSetFilter> {
  readonly name = 'hash-set';
  readonly #sets: Set<string>[] = [new Set()];
  readonly #setEntriesMax: number;
  #idBytes = 0;

  private constructor(setEntriesMax: number) {
    this.#setEntriesMax = setEntriesMax;
  }

  /**
   * The capacity is ignored, because a Set grows as needed.
   * @param options.setEntriesMax - maximum number of ids per Set
   */
  static forCapacity(options?: { readonly capacity?: number; readonly setEntriesMax?: number }): HashSetFilter {
    return new HashSetFilter(options?.setEntriesMax ?? SET_ENTRIES_MAX);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array, setEntriesMax: number = SET_ENTRIES_MAX): HashSetFilter {
    const filter = new HashSetFilter(setEntriesMax);
    const count = decodeIds('hash-set', bytes, (id) => filter.add(id));
    checkSaved(count === filter.elements, 'hash-set', 'it contains an id twice');
    return filter;
  }

  get elements(): number {
    return this.#sets.reduce((sum, set) => sum + set.size, 0);
  }

  /** An estimate, because V8 does not report the size of an object. */
  get memoryBytes(): number {
    const tables = this.#sets.reduce((sum, set) => sum + 2 ** Math.ceil(Math.log2(Math.max(4, set.size))), 0);
    return tables * SET_ENTRY_BYTES + this.#idBytes;
  }

  add(id: Uint8Array): void {
    const key = byteStringFromBytes(id);
    if (this.#setWith(key) !== undefined) return;
    let last = this.#sets.at(-1)!;
    if (last.size === this.#setEntriesMax) this.#sets.push((last = new Set()));
    last.add(key);
    this.#idBytes += stringBytes(id);
  }

  has(id: Uint8Array): boolean {
    return this.#setWith(byteStringFromBytes(id)) !== undefined;
  }

  delete(id: Uint8Array): boolean {
    const key = byteStringFromBytes(id);
    const isDeleted = this.#setWith(key)?.delete(key) ?? false;
    if (isDeleted) this.#idBytes -= stringBytes(id);
    return isDeleted;
  }

  merge(other: HashSetFilter): void {
    for (const id of other.ids()) this.add(id);
  }

  falsePositiveRate(): number {
    return 0;
  }

  save(): Uint8Array {
    return encodeIds('hash-set', () => this.ids());
  }

  /** All ids, in the order in which they were added. */
  *ids(): Generator<Uint8Array> {
    for (const set of this.#sets) for (const key of set) yield Buffer.from(key, 'latin1');
  }

  #setWith(key: string): Set<string> | undefined {
    for (const set of this.#sets) if (set.has(key)) return set;
    return undefined;
  }
}

function stringBytes(id: Uint8Array): number {
  return STRING_HEADER_BYTES + Math.ceil(id.length / 8) * 8;
}
