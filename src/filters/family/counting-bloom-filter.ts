import { UsageError } from '../../core/errors.ts';
import { repeatRate } from '../../core/ldm/double-hashing.ts';
import { CountingPositions } from './counting-positions.ts';
import { isPossible, planCounting, savedNumbers, type CountingOptions, type CountingShape } from './counting-shape.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';
import { PackedCounters, wordsFor, type CounterBits } from './packed-counters.ts';
import type { Trace } from './trace.ts';
import { bytesOfWords, checkSaved, decodeSaved, encodeSaved, isWholeNumber, wordsOfBytes } from './saved-filter.ts';

/**
 * The counting Bloom filter (Fan, Cao, Almeida and Broder, "Summary Cache", SIGCOMM 1998): m counters instead of bits.
 * Each id increments k of them, so it can be deleted again. With X counters above 0 the false positive rate is
 * `(X/m)^k`, which is `(1 - e^(-kn/m))^k` for n ids. With start and stride, the rate of `repeatRate` is added, which
 * matters at a low fill.
 *
 * Counters saturate permanently, so an id whose counters are all saturated can never be deleted. Delete only ids that
 * were added: deleting a false positive decrements the counters of other ids, which may cause false negatives.
 */
export class CountingBloomFilter implements ErasableFilter, MergeableFilter<CountingBloomFilter> {
  readonly name = 'counting-bloom';
  readonly shape: CountingShape;
  readonly #counters: PackedCounters;
  readonly #positions: CountingPositions;
  #elements: number;

  private constructor(shape: CountingShape, elements = 0, words?: Int32Array, idHash?: IdHash) {
    this.shape = shape;
    this.#positions = new CountingPositions(shape, idHash);
    this.#counters = new PackedCounters(this.#positions.total, shape.counterBits, words);
    this.#elements = elements;
  }

  /** @throws UsageError if a value is out of range */
  static forCapacity(options: CountingOptions & IdHashOption): CountingBloomFilter {
    return new CountingBloomFilter(planCounting(options), 0, undefined, options.idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): CountingBloomFilter {
    const { numbers, arrays } = decodeSaved('counting-bloom', bytes);
    const check: (holds: boolean, problem: string) => asserts holds = (holds, problem) =>
      checkSaved(holds, 'counting-bloom', problem);
    check(numbers.length === 6 && arrays.length === 1, 'it does not have the expected parts');
    const [counterBits, hashes, partitioned, firstSize, seed, elements] = numbers as [CounterBits, ...number[]];
    check(partitioned === 0 || partitioned === 1, `its partition flag is ${partitioned}`);
    check(!Object.is(partitioned, -0) && isWholeNumber(elements, 0, Number.MAX_SAFE_INTEGER), `it has ${elements} ids`);
    const shape = {
      counterBits,
      hashes: hashes!,
      isPartitioned: partitioned === 1,
      firstSize: firstSize!,
      seed: seed!,
    };
    check(isPossible(shape), 'its shape is not valid');
    const neededBytes = wordsFor(new CountingPositions(shape).total, counterBits) * 4;
    check(arrays[0]!.length === neededBytes, `it needs ${neededBytes} bytes of counters, but has ${arrays[0]!.length}`);
    const filter = new CountingBloomFilter(shape, elements, wordsOfBytes(arrays[0]!));
    const counters = filter.#counters;
    check(counters.isPaddedWithZeros(), 'it has data after its last counter');
    const isSumRight = counters.saturatedCount > 0 || counters.sum() === elements * shape.hashes;
    check(isSumRight, `its counters do not add up to ${elements} ids`);
    return filter;
  }

  save(): Uint8Array {
    assertHashed(this.#positions.idHash);
    return encodeSaved(this.name, savedNumbers(this.shape, this.#elements), [bytesOfWords(this.#counters.words)]);
  }

  /** Number of ids; an id that was added twice counts twice. */
  get elements(): number {
    return this.#elements;
  }

  get memoryBytes(): number {
    return this.#counters.words.byteLength;
  }

  /** m, the sum over all partitions. */
  get positions(): number {
    return this.#counters.length;
  }

  /** Number of counters above 0. */
  get takenCount(): number {
    return this.#counters.takenCount;
  }

  /** Number of saturated counters. */
  get saturatedCount(): number {
    return this.#counters.saturatedCount;
  }

  /** Fraction of the counters that are above 0; one half at full capacity. */
  get fillRatio(): number {
    return this.takenCount / this.positions;
  }

  /**
   * Estimate of the distinct ids from the fill: `-(m/k) ln(1 - X/m)` (Swamidass and Baldi 2007); Infinity if all
   * counters are taken.
   */
  estimatedElements(): number {
    return Math.round((-Math.log1p(-this.fillRatio) * this.positions) / this.shape.hashes);
  }

  falsePositiveRate(): number {
    const { hashes, isPartitioned } = this.shape;
    const independent = this.fillRatio ** hashes;
    if (isPartitioned) return independent;
    return independent + (1 - independent) * repeatRate(this.positions, this.#elements, hashes);
  }

  add(id: Uint8Array): void {
    this.#counters.increment(this.#positions.of(id));
    this.#elements++;
  }

  has(id: Uint8Array): boolean {
    return this.#counters.areTaken(this.#positions.of(id));
  }

  /** What `has` reads for an id. */
  trace(id: Uint8Array): Trace {
    const valueAt = (position: number): number => this.#counters.countAt(position);
    return { ...this.#positions.trace(id), unit: 'counter', arrays: [{ size: this.positions, valueAt }] };
  }

  /**
   * Returns how often an id was added and not deleted, at most: the minimum of its counters, which is never too low. It
   * is too high where other ids share all of them. If all are saturated, the number is unknown: Infinity.
   */
  count(id: Uint8Array): number {
    const lowest = this.#counters.lowestAt(this.#positions.of(id));
    return lowest === this.#counters.countMax ? Infinity : lowest;
  }

  delete(id: Uint8Array): boolean {
    const positions = this.#positions.of(id);
    // In an empty filter, only saturated counters are above 0.
    if (this.#elements === 0 || !this.#counters.areTaken(positions)) return false;
    this.#counters.decrement(positions);
    this.#elements--;
    return true;
  }

  /**
   * Adds the ids of another filter with the same shape; counters saturate.
   * @throws UsageError if the shapes differ
   */
  merge(other: CountingBloomFilter): void {
    if (JSON.stringify(other.shape) !== JSON.stringify(this.shape)) {
      throw new UsageError(
        `a counting Bloom filter of ${other.positions} counters and ${other.shape.hashes} hashes cannot be merged into one of ${this.positions} and ${this.shape.hashes}`,
        { hint: 'Create both with the same options.' },
      );
    }
    assertHashed(other.#positions.idHash);
    assertHashed(this.#positions.idHash);
    this.#counters.addAll(other.#counters);
    this.#elements += other.#elements;
  }
}
