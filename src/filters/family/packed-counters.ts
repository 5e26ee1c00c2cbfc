export type CounterBits = 4 | 8 | 16;

const WORD_BITS = 32;

/**
 * Counters of 4, 8 or 16 bits, several per word. A counter that reaches its maximum saturates permanently: decrementing
 * it could cause a false negative, because its true count is unknown. The loops over positions are hot, so they copy
 * fields to local variables first.
 */
export class PackedCounters {
  readonly length: number;
  readonly counterBits: CounterBits;
  readonly words: Int32Array;
  readonly #countMax: number;
  /** log2 of the counters per word, and of the bits per counter. */
  readonly #indexShift: number;
  readonly #bitShift: number;
  readonly #indexMask: number;
  #takenCount = 0;
  #saturatedCount = 0;

  /** @param words - saved counters, `wordsFor` words; if omitted, all counters are 0 */
  constructor(length: number, counterBits: CounterBits, words?: Int32Array) {
    this.length = length;
    this.counterBits = counterBits;
    this.words = words ?? new Int32Array(wordsFor(length, counterBits));
    this.#countMax = 2 ** counterBits - 1;
    this.#bitShift = Math.log2(counterBits);
    this.#indexShift = Math.log2(WORD_BITS / counterBits);
    this.#indexMask = WORD_BITS / counterBits - 1;
    if (words !== undefined) this.#recount();
  }

  /** Number of counters above 0. */
  get takenCount(): number {
    return this.#takenCount;
  }

  /** Number of saturated counters. */
  get saturatedCount(): number {
    return this.#saturatedCount;
  }

  countAt(position: number): number {
    return (this.words[position >>> this.#indexShift]! >>> this.#shiftOf(position)) & this.#countMax;
  }

  /** The value that a saturated counter has. */
  get countMax(): number {
    return this.#countMax;
  }

  /** Returns the lowest counter at these positions. */
  lowestAt(positions: Int32Array): number {
    let lowest = this.#countMax;
    for (const position of positions) lowest = Math.min(lowest, this.countAt(position));
    return lowest;
  }

  /** Whether the counters at all positions are above 0. */
  areTaken(positions: Int32Array): boolean {
    const words = this.words;
    const indexShift = this.#indexShift;
    const indexMask = this.#indexMask;
    const bitShift = this.#bitShift;
    const countMax = this.#countMax;
    for (let at = 0; at < positions.length; at++) {
      const position = positions[at]!;
      const shift = (position & indexMask) << bitShift;
      if (((words[position >>> indexShift]! >>> shift) & countMax) === 0) return false;
    }
    return true;
  }

  /** Increments the counter at each position. */
  increment(positions: Int32Array): void {
    const words = this.words;
    const indexShift = this.#indexShift;
    const indexMask = this.#indexMask;
    const bitShift = this.#bitShift;
    const countMax = this.#countMax;
    for (let at = 0; at < positions.length; at++) {
      const position = positions[at]!;
      const shift = (position & indexMask) << bitShift;
      const word = words[position >>> indexShift]!;
      const count = (word >>> shift) & countMax;
      if (count === countMax) continue;
      if (count === 0) this.#takenCount++;
      if (count === countMax - 1) this.#saturatedCount++;
      words[position >>> indexShift] = word + (1 << shift);
    }
  }

  /** Decrements the counter at each position, which must be above 0; saturated counters stay unchanged. */
  decrement(positions: Int32Array): void {
    const words = this.words;
    const indexShift = this.#indexShift;
    const indexMask = this.#indexMask;
    const bitShift = this.#bitShift;
    const countMax = this.#countMax;
    for (let at = 0; at < positions.length; at++) {
      const position = positions[at]!;
      const shift = (position & indexMask) << bitShift;
      const word = words[position >>> indexShift]!;
      const count = (word >>> shift) & countMax;
      if (count === countMax) continue;
      if (count === 1) this.#takenCount--;
      words[position >>> indexShift] = word - (1 << shift);
    }
  }

  /** Adds counters of the same number and size; each saturates at the maximum. */
  addAll(other: PackedCounters): void {
    for (let position = 0; position < this.length; position++) {
      const sum = this.countAt(position) + other.countAt(position);
      const shift = this.#shiftOf(position);
      const index = position >>> this.#indexShift;
      const cleared = this.words[index]! & ~(this.#countMax << shift);
      this.words[index] = cleared | (Math.min(sum, this.#countMax) << shift);
    }
    this.#recount();
  }

  sum(): number {
    let sum = 0;
    for (let position = 0; position < this.length; position++) sum += this.countAt(position);
    return sum;
  }

  /** Whether the unused part of the last word is 0. */
  isPaddedWithZeros(): boolean {
    const end = this.words.length << this.#indexShift;
    for (let position = this.length; position < end; position++) if (this.countAt(position) !== 0) return false;
    return true;
  }

  #shiftOf(position: number): number {
    return (position & this.#indexMask) << this.#bitShift;
  }

  #recount(): void {
    this.#takenCount = 0;
    this.#saturatedCount = 0;
    for (let position = 0; position < this.length; position++) {
      const count = this.countAt(position);
      if (count > 0) this.#takenCount++;
      if (count === this.#countMax) this.#saturatedCount++;
    }
  }
}

export function wordsFor(length: number, counterBits: CounterBits): number {
  return Math.ceil(length / (WORD_BITS / counterBits));
}
