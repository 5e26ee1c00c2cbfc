/** The longest chain, over all runs. */
export interface LongestChain {
  readonly mean: number;
  /** Of the mean; 0 for one run. */
  readonly standardError: number;
  readonly min: number;
  readonly max: number;
  /** What theory predicts for the mean. */
  readonly expected: number;
}

/** Sums up the runs as they come, so that a hundred thousand of them need no memory. Lengths are whole numbers: no sum is rounded. */
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
