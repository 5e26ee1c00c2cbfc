/** Statistics of the longest chain over all runs. */
export interface LongestChain {
  readonly mean: number;
  /** Standard error of the mean; 0 for one run. */
  readonly standardError: number;
  readonly min: number;
  readonly max: number;
  /** The theoretical mean. */
  readonly expected: number;
}

/**
 * Accumulates runs one at a time, so that a hundred thousand of them need no memory. Lengths are integers, so no sum is
 * rounded.
 */
export class RunSummary {
  #runs = 0;
  #sum = 0;
  #squares = 0;
  #min = Infinity;
  #max = 0;

  add(length: number): void {
    this.#runs++;
    this.#sum += length;
    this.#squares += length * length;
    this.#min = Math.min(this.#min, length);
    this.#max = Math.max(this.#max, length);
  }

  describe(expected: number): LongestChain {
    const runs = this.#runs;
    const mean = this.#sum / runs;
    const variance = runs < 2 ? 0 : (this.#squares - this.#sum * mean) / (runs - 1);
    return { mean, standardError: Math.sqrt(Math.max(0, variance) / runs), min: this.#min, max: this.#max, expected };
  }
}
