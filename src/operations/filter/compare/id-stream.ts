import { ID_BYTES } from '../../../filter/positions.ts';
import { fillRandomIds, randomWords } from '../../../filter/random-ids.ts';

/** How many ids are made at a time: enough that a clock can measure what is done with them. */
export const BATCH_IDS = 4096;

const WORDS_PER_ID = ID_BYTES / 4;

/** Ids of members and ids that are absent come from seeds apart; 160 random bits do not meet by chance. */
export const ABSENT_SEED_OFFSET = 0x5eed;

/**
 * The same random ids again and again from their seed, so that ten million of them need not be held. The views that it
 * gives are valid until the next are asked for.
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

  /** The next ids, at most a batch; of every `stride` ids only the first, when not all are wanted. */
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
