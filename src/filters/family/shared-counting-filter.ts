import { UsageError } from '../../core/errors.ts';
import { repeatRate } from '../../core/ldm/double-hashing.ts';
import { CountingBloomFilter } from './counting-bloom-filter.ts';
import { CountingPositions } from './counting-positions.ts';
import { isPossible, planCounting, savedNumbers, type CountingOptions, type CountingShape } from './counting-shape.ts';
import type { ErasableFilter } from './membership-filter.ts';
import { wordsFor } from './packed-counters.ts';
import { bytesOfWords, decodeSaved, encodeSaved, wordsOfBytes } from './saved-filter.ts';
import { SharedCounters } from './shared-counters.ts';

/** What another thread needs to use the same filter: send it with `postMessage` or as `workerData`. */
export interface SharedFilterHandle {
  readonly shape: CountingShape;
  readonly memory: SharedArrayBuffer;
}

/**
 * A counting Bloom filter in memory that several threads share. They may add, delete and query at the same time, without
 * false negatives: from the end of `add` to the start of the `delete` that belongs to it, `has` is true in every thread.
 *
 * "Summary Cache" (Fan and others, 1998) has one thread in mind, where a delete first verifies that the id is in the
 * filter. With two threads, both may verify before either decrements, and a second delete of one id then decrements
 * counters that belong to others. So deletes of the same id wait for each other. Adds, queries and deletes of other ids
 * take no lock; each counter changes atomically.
 *
 * A thread that is terminated during a delete keeps its lock, and deletes of the ids with that lock then wait for ever.
 * As in `CountingBloomFilter`, delete only ids that were added, and no id more often than it was added.
 */
export class SharedCountingFilter implements ErasableFilter {
  readonly name = 'counting-bloom';
  readonly shape: CountingShape;
  readonly #counters: SharedCounters;
  readonly #positions: CountingPositions;

  private constructor({ shape, memory }: SharedFilterHandle) {
    this.shape = shape;
    this.#positions = new CountingPositions(shape);
    this.#counters = new SharedCounters(memory, shape.counterBits);
  }

  /** @throws UsageError if a value is out of range */
  static forCapacity(options: CountingOptions): SharedCountingFilter {
    const shape = planCounting(options);
    return new SharedCountingFilter({ shape, memory: new SharedArrayBuffer(memoryBytesFor(shape)) });
  }

  /** Copies a filter to shared memory. */
  static from(filter: CountingBloomFilter): SharedCountingFilter {
    const { shape, elements, takenCount: taken, saturatedCount: saturated } = filter;
    const words = wordsOfBytes(decodeSaved(filter.name, filter.save()).arrays[0]!);
    const shared = new SharedCountingFilter({ shape, memory: new SharedArrayBuffer(memoryBytesFor(shape)) });
    shared.#counters.words.set(words);
    shared.#counters.setTotals({ elements, taken, saturated });
    return shared;
  }

  /**
   * Opens a filter that another thread has made.
   * @throws UsageError if it is not the handle of one
   */
  static attach(handle: SharedFilterHandle): SharedCountingFilter {
    const { shape, memory } = handle;
    const isFilter =
      memory instanceof SharedArrayBuffer && isPossible(shape) && memory.byteLength === memoryBytesFor(shape);
    if (!isFilter) throw new UsageError('this is not the handle of a counting Bloom filter in shared memory');
    return new SharedCountingFilter(handle);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): SharedCountingFilter {
    return SharedCountingFilter.from(CountingBloomFilter.load(bytes));
  }

  get handle(): SharedFilterHandle {
    return { shape: this.shape, memory: this.#counters.memory };
  }

  get elements(): number {
    return this.#counters.elements;
  }

  get memoryBytes(): number {
    return this.#counters.memory.byteLength;
  }

  /** Number of saturated counters. */
  get saturatedCount(): number {
    return this.#counters.saturatedCount;
  }

  falsePositiveRate(): number {
    const { hashes, isPartitioned } = this.shape;
    const { total } = this.#positions;
    const independent = (this.#counters.takenCount / total) ** hashes;
    if (isPartitioned) return independent;
    return independent + (1 - independent) * repeatRate(total, this.elements, hashes);
  }

  add(id: Uint8Array): void {
    // First, so that a delete that finds the counters never finds an empty filter.
    this.#counters.addElements(1);
    this.#counters.increment(this.#positions.of(id));
  }

  has(id: Uint8Array): boolean {
    return this.#counters.areTaken(this.#positions.of(id));
  }

  /** As in `CountingBloomFilter`. */
  count(id: Uint8Array): number {
    const lowest = this.#counters.lowestAt(this.#positions.of(id));
    return lowest === this.#counters.countMax ? Infinity : lowest;
  }

  delete(id: Uint8Array): boolean {
    const positions = this.#positions.of(id);
    const counters = this.#counters;
    return counters.withLock(this.#positions.lockKey, () => {
      if (counters.elements === 0 || !counters.areTaken(positions)) return false;
      counters.decrement(positions);
      counters.addElements(-1);
      return true;
    });
  }

  /** Copies the filter to memory of this thread, in the same form as saved. No thread may change it meanwhile. */
  unshared(): CountingBloomFilter {
    return CountingBloomFilter.load(this.save());
  }

  /** As `CountingBloomFilter` saves it. No thread may change it meanwhile. */
  save(): Uint8Array {
    const words = bytesOfWords(Int32Array.from(this.#counters.words));
    return encodeSaved(this.name, savedNumbers(this.shape, this.elements), [words]);
  }
}

function memoryBytesFor(shape: CountingShape): number {
  return SharedCounters.bytesFor(wordsFor(new CountingPositions(shape).total, shape.counterBits));
}
