import { ID_BYTES } from '../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../core/ldm/random-ids.ts';

/** Number of ids generated at a time: enough to time the operations on them. */
export const BATCH_IDS = 4096;

const WORDS_PER_ID = ID_BYTES / 4;

/** Members and absent ids use different seeds; random ids of 160 bits do not collide by chance. */
export const ABSENT_SEED_OFFSET = 0x5eed;

/**
 * Regenerates the same random ids from their seed, so that ten million of them need not be kept in memory. The returned
 * views are valid until the next call.
 */
export class IdStream {
  readonly #nextWord: () => number;
  readonly #batch: readonly Uint8Array[];

  constructor(seed: number) {
    this.#nextWord = randomWords(seed);
    const bytes = new Uint8Array(BATCH_IDS * ID_BYTES);
    this.#batch = Array.from({ length: BATCH_IDS }, (_, index) =>
      bytes.subarray(index * ID_BYTES, (index + 1) * ID_BYTES),
    );
  }

  /** Returns the next ids, at most a batch; with `stride`, only the first of every `stride` ids. */
  take(count: number, stride = 1): readonly Uint8Array[] {
    const taken = Math.min(count, BATCH_IDS);
    for (let index = 0; index < taken; index++) {
      fillRandomIds(this.#batch[index]!, this.#nextWord);
      this.skip(stride - 1);
    }
    return taken === BATCH_IDS ? this.#batch : this.#batch.slice(0, taken);
  }

  skip(count: number): void {
    for (let word = 0; word < count * WORDS_PER_ID; word++) this.#nextWord();
  }
}
