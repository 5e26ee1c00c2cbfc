import type { CounterBits } from './packed-counters.ts';

const WORD_BITS = 32;
/** Locks for deletes. Two deletes wait for each other only if their ids have the same lock. */
const LOCK_COUNT = 256;
const LOCKS_AT = 16;
const WORDS_AT = LOCKS_AT + LOCK_COUNT * 4;

/** States of a lock (Drepper, "Futexes Are Tricky", 2011, mutex 2). */
const FREE = 0;
const HELD = 1;
const CONTENDED = 2;

/**
 * Counters like `PackedCounters`, in memory that several threads change at the same time. Memory:
 *
 * - offset 0, 8 bytes: number of ids
 * - offset 8, 4 bytes each: number of counters above 0, and of saturated ones
 * - offset 16: 256 locks of 4 bytes
 * - offset 1040: the counters, 32 bits at a time
 *
 * A counter changes by compare-and-exchange of its word, so no change is lost, and it saturates permanently.
 */
export class SharedCounters {
  readonly memory: SharedArrayBuffer;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #elements: BigInt64Array<SharedArrayBuffer>;
  readonly #totals: Int32Array<SharedArrayBuffer>;
  readonly #locks: Int32Array<SharedArrayBuffer>;
  readonly #countMax: number;
  readonly #bitShift: number;
  readonly #indexShift: number;
  readonly #indexMask: number;

  constructor(memory: SharedArrayBuffer, counterBits: CounterBits) {
    this.memory = memory;
    this.words = new Int32Array(memory, WORDS_AT);
    this.#elements = new BigInt64Array(memory, 0, 1);
    this.#totals = new Int32Array(memory, 8, 2);
    this.#locks = new Int32Array(memory, LOCKS_AT, LOCK_COUNT);
    this.#countMax = 2 ** counterBits - 1;
    this.#bitShift = Math.log2(counterBits);
    this.#indexShift = Math.log2(WORD_BITS / counterBits);
    this.#indexMask = WORD_BITS / counterBits - 1;
  }

  static bytesFor(wordCount: number): number {
    return WORDS_AT + wordCount * 4;
  }

  get countMax(): number {
    return this.#countMax;
  }

  get elements(): number {
    return Number(Atomics.load(this.#elements, 0));
  }

  addElements(change: number): void {
    Atomics.add(this.#elements, 0, BigInt(change));
  }

  get takenCount(): number {
    return Atomics.load(this.#totals, 0);
  }

  get saturatedCount(): number {
    return Atomics.load(this.#totals, 1);
  }

  /** For memory that was filled by one thread, before others have it. */
  setTotals(totals: { readonly elements: number; readonly taken: number; readonly saturated: number }): void {
    this.#elements[0] = BigInt(totals.elements);
    this.#totals.set([totals.taken, totals.saturated]);
  }

  countAt(position: number): number {
    const word = Atomics.load(this.words, position >>> this.#indexShift);
    return (word >>> this.#shiftOf(position)) & this.#countMax;
  }

  /** Returns the lowest counter at these positions. */
  lowestAt(positions: Int32Array): number {
    let lowest = this.#countMax;
    for (const position of positions) lowest = Math.min(lowest, this.countAt(position));
    return lowest;
  }

  areTaken(positions: Int32Array): boolean {
    for (const position of positions) if (this.countAt(position) === 0) return false;
    return true;
  }

  /** Increments the counter at each position. */
  increment(positions: Int32Array): void {
    for (const position of positions) {
      const before = this.#change(position, 1);
      if (before === 0) Atomics.add(this.#totals, 0, 1);
      if (before === this.#countMax - 1) Atomics.add(this.#totals, 1, 1);
    }
  }

  /** Decrements the counter at each position; those that are saturated, or 0, stay unchanged. */
  decrement(positions: Int32Array): void {
    for (const position of positions) if (this.#change(position, -1) === 1) Atomics.sub(this.#totals, 0, 1);
  }

  /** Runs `work` while no other thread runs work for the same `key`, an unsigned word. */
  withLock<T>(key: number, work: () => T): T {
    const index = key % LOCK_COUNT;
    this.#acquire(index);
    try {
      return work();
    } finally {
      if (Atomics.exchange(this.#locks, index, FREE) === CONTENDED) Atomics.notify(this.#locks, index, 1);
    }
  }

  #acquire(index: number): void {
    if (Atomics.compareExchange(this.#locks, index, FREE, HELD) === FREE) return;
    while (Atomics.exchange(this.#locks, index, CONTENDED) !== FREE) Atomics.wait(this.#locks, index, CONTENDED);
  }

  /** Adds 1 or -1 unless the counter is saturated or would become negative. Returns the count before. */
  #change(position: number, change: 1 | -1): number {
    const index = position >>> this.#indexShift;
    const shift = this.#shiftOf(position);
    let word = Atomics.load(this.words, index);
    for (;;) {
      const count = (word >>> shift) & this.#countMax;
      if (count === this.#countMax || count + change < 0) return count;
      const seen = Atomics.compareExchange(this.words, index, word, word + change * (1 << shift));
      if (seen === word) return count;
      word = seen;
    }
  }

  #shiftOf(position: number): number {
    return (position & this.#indexMask) << this.#bitShift;
  }
}
