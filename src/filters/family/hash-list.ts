import { FilterFullError } from '../../core/errors.ts';

/** Words of a hash of an id, as an `IdHash` writes them. */
export const HASH_WORDS = 4;

const FIRST_COUNT = 256;
/** 2^27 hashes of 16 bytes take 2 GiB, and all indices into their words stay below 2^31. */
const COUNT_MAX = 2 ** 27;

/** The hashes of the ids that a static structure will be built of, 16 bytes each in one growing array. */
export class HashList {
  #words: Uint32Array = new Uint32Array(FIRST_COUNT * HASH_WORDS);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The words of hash i start at 4 i. The array is replaced when the list grows. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** @throws FilterFullError if there are 2^27 */
  push(hash: Uint32Array): void {
    if (this.#count === COUNT_MAX) {
      throw new FilterFullError(`a static filter is built of at most ${COUNT_MAX} ids`, {
        hint: 'Distribute the ids over several filters.',
      });
    }
    const at = this.#count * HASH_WORDS;
    if (at === this.#words.length) {
      const grown = new Uint32Array(at * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words.set(hash, at);
    this.#count++;
  }

  has(index: number, hash: Uint32Array): boolean {
    const words = this.#words;
    const at = index * HASH_WORDS;
    return words[at] === hash[0] && words[at + 1] === hash[1] && words[at + 2] === hash[2] && words[at + 3] === hash[3];
  }
}

/** What a static structure answers to `add` once it is built. */
export function staticFilterError(name: string): FilterFullError {
  return new FilterFullError(`the ${name} filter is static: nothing can be added after the first query`, {
    hint: 'Create a filter and add all ids again, before anything is asked.',
  });
}
