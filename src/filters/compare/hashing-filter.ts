import { ID_BYTES } from '../../core/ldm/positions.ts';
import type { LdmSet } from '../family/ldm-set.ts';
import type { ErasableFilter } from '../family/membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';

const HASH_BYTES = 16;

/**
 * An LDM filter that hashes its ids like the other structures. The LDM filter uses chunk ids unchanged, because a keyed
 * hash is uniform; for a fair comparison with structures that hash every id, it must pay for that hash too. Its
 * positions come from the first 16 of the 20 bytes, which this class replaces with the hash; the last 4 bytes of the id
 * remain.
 */
export class HashingLdmSet implements ErasableFilter {
  readonly name = 'ldm';
  readonly #set: LdmSet;
  readonly #words: Uint32Array = new Uint32Array(HASH_BYTES / 4);
  readonly #hashBytes: Uint8Array = new Uint8Array(this.#words.buffer);
  readonly #id: Uint8Array = new Uint8Array(ID_BYTES);

  constructor(set: LdmSet) {
    this.#set = set;
  }

  get elements(): number {
    return this.#set.elements;
  }

  get memoryBytes(): number {
    return this.#set.memoryBytes;
  }

  add(id: Uint8Array): void {
    this.#set.add(this.#hash(id));
  }

  has(id: Uint8Array): boolean {
    return this.#set.has(this.#hash(id));
  }

  delete(id: Uint8Array): boolean {
    return this.#set.delete(this.#hash(id));
  }

  mayHave(id: Uint8Array): boolean {
    return this.#set.mayHave(this.#hash(id));
  }

  falsePositiveRate(): number {
    return this.#set.falsePositiveRate();
  }

  save(): Uint8Array {
    return this.#set.save();
  }

  /** Returns an array that the next call overwrites. */
  #hash(id: Uint8Array): Uint8Array {
    murmur3(id, 0, this.#words);
    this.#id.set(this.#hashBytes);
    for (let at = HASH_BYTES; at < ID_BYTES; at++) this.#id[at] = id[at]!;
    return this.#id;
  }
}
