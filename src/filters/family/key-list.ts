import { FilterFullError } from '../../core/errors.ts';

const FIRST_COUNT = 256;
/** 2^27 keys of 8 bytes take 1 GiB, and all indices into their words stay below 2^31. */
export const KEYS_MAX: number = 2 ** 27;

/** Keys of 64 bits that a static filter will be built of, in one growing array on a little-endian machine. */
export class KeyList {
  #keys: BigUint64Array<ArrayBuffer> = new BigUint64Array(FIRST_COUNT);
  #words: Uint32Array = new Uint32Array(this.#keys.buffer);
  #count = 0;
  /** This number of keys, from the first, are distinct and in ascending order. */
  #sorted = 0;

  /** @throws FilterFullError if there are 2^27 */
  push(low: number, high: number): void {
    if (this.#count === this.#keys.length) this.#makeRoom();
    this.#words[this.#count * 2] = low;
    this.#words[this.#count * 2 + 1] = high;
    this.#count++;
  }

  /** The words of the distinct keys: of key i, the low one at 2 i and the high one at 2 i + 1. Sorts what was added. */
  distinct(): Uint32Array {
    if (this.#sorted < this.#count) {
      const keys = this.#keys.subarray(0, this.#count).sort();
      let kept = 0;
      for (let at = 0; at < this.#count; at++) {
        const isRepeated =
          kept > 0 &&
          this.#words[at * 2] === this.#words[kept * 2 - 2] &&
          this.#words[at * 2 + 1] === this.#words[kept * 2 - 1];
        if (!isRepeated) keys.copyWithin(kept++, at, at + 1);
      }
      this.#count = kept;
      this.#sorted = kept;
    }
    return this.#words.subarray(0, this.#count * 2);
  }

  #makeRoom(): void {
    // The keys that are there may be copies of each other.
    if (this.#count === KEYS_MAX && this.distinct().length === KEYS_MAX * 2) {
      throw new FilterFullError(`a static filter is built of at most ${KEYS_MAX} ids`, {
        hint: 'Distribute the ids over several filters.',
      });
    }
    if (this.#count < this.#keys.length) return;
    const grown = new BigUint64Array(this.#keys.length * 2);
    grown.set(this.#keys);
    this.#keys = grown;
    this.#words = new Uint32Array(grown.buffer);
  }
}
