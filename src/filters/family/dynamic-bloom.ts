import { UsageError } from '../../core/errors.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { startOf, strideOf } from '../../core/ldm/positions.ts';
import {
  addToSlice,
  emptySlice,
  isInSlice,
  loadSlice,
  rateOfAny,
  type Shape,
  type Slice,
  wordCount,
} from './bloom-slice.ts';
import { CAPACITY_MAX, HASHES_MAX, planList, POSITIONS_MAX, type ListOptions } from './filter-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MergeableFilter } from './membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import { traceOfStride, type Trace } from './trace.ts';

export type DynamicBloomOptions = ListOptions & IdHashOption;

const SEED = 0;

/**
 * Dynamic Bloom filter: a list of equal Bloom filters of m bits and k hashes. An id is added to the first filter with
 * fewer than c ids; if all are full, a filter is appended. An id is present if any filter has it: all filters use the
 * same k positions, but each must be probed.
 *
 * FPR `1 - prod(1 - f_i)` with f_i = (X_i / m)^k for X_i set bits, plus `repeatRate` in each filter. With s filters at
 * n_max, each has the rate `1 - (1 - rate)^(1/s)`; beyond n_max the list, its rate and its lookup time keep growing.
 * Memory: `-log2(1 - (1 - rate)^(1/s)) / ln 2` bits per id, log2(s) / ln 2 more than a single filter.
 *
 * An id that is or seems present is not added again, so `elements` is too low by the number of false positives.
 *
 * Source: Guo, Wu, Chen, Yuan, Luo: "The Dynamic Bloom Filters" (IEEE TKDE 22, 2010).
 */
export class DynamicBloomFilter implements MergeableFilter<DynamicBloomFilter> {
  readonly name = 'dynamic-bloom';
  readonly #shape: Shape;
  readonly #idHash: IdHash;
  readonly #slices: Slice[];
  readonly #hash: Uint32Array = new Uint32Array(4);
  /** All filters before this index are full. */
  #active = 0;

  private constructor(shape: Shape, slices: Slice[], idHash: IdHash = murmur3) {
    this.#idHash = idHash;
    this.#shape = shape;
    this.#slices = slices;
  }

  /** @throws UsageError if a value is out of range */
  static forCapacity(options: DynamicBloomOptions): DynamicBloomFilter {
    const shape = planList(options);
    return new DynamicBloomFilter(shape, [emptySlice(shape)], options.idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): DynamicBloomFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('dynamic-bloom', bytes);
    const [filterCapacity, positions, hashes, ...elements] = numbers;
    const isPlausible =
      isWholeNumber(filterCapacity, 1, CAPACITY_MAX) &&
      isWholeNumber(positions, 2, POSITIONS_MAX) &&
      isWholeNumber(hashes, 1, HASHES_MAX) &&
      arrays.length > 0 &&
      arrays.length === elements.length;
    checkSaved(isPlausible, 'dynamic-bloom', 'its numbers are inconsistent');
    const slices = arrays.map((array, index): Slice => {
      const count = elements[index];
      checkSaved(isWholeNumber(count, 0, filterCapacity), 'dynamic-bloom', `filter ${index} has ${count} ids`);
      const slice = loadSlice(array, positions, count);
      checkSaved(slice !== undefined, 'dynamic-bloom', `filter ${index} does not match the numbers`);
      return slice;
    });
    return new DynamicBloomFilter({ filterCapacity, positions, hashes }, slices);
  }

  /** Number of ids that were added and did not seem present. */
  get elements(): number {
    return this.#slices.reduce((sum, slice) => sum + slice.elements, 0);
  }

  get memoryBytes(): number {
    return this.#slices.length * wordCount(this.#shape.positions) * 4;
  }

  /** s: number of filters. */
  get filterCount(): number {
    return this.#slices.length;
  }

  add(id: Uint8Array): void {
    if (this.has(id)) return;
    const slice = this.#activeSlice();
    // `has` has left the hash of the id in `#hash`.
    const start = startOf(this.#hash, 0, this.#shape.positions);
    addToSlice(slice, start, strideOf(this.#hash, 0, this.#shape.positions), this.#shape);
  }

  has(id: Uint8Array): boolean {
    this.#idHash(id, SEED, this.#hash);
    const { positions } = this.#shape;
    const start = startOf(this.#hash, 0, positions);
    const stride = strideOf(this.#hash, 0, positions);
    for (let index = 0; index < this.#slices.length; index++) {
      if (isInSlice(this.#slices[index]!.words, start, stride, this.#shape)) return true;
    }
    return false;
  }

  /** What `has` reads for an id: in the first filter, and in each further one if those before do not have it. */
  trace(id: Uint8Array): Trace {
    this.#idHash(id, SEED, this.#hash);
    const { positions: size, hashes } = this.#shape;
    const start = startOf(this.#hash, 0, size);
    const stride = strideOf(this.#hash, 0, size);
    return {
      ...traceOfStride({ start, stride }, { size, hashes }),
      unit: 'bit',
      arrays: this.#slices.map(({ words }) => ({
        size,
        valueAt: (position) => (words[position >>> 5]! >>> position) & 1,
      })),
    };
  }

  /**
   * Adds the filters of another list with the same shape.
   * @throws UsageError if the filters differ in capacity, bits or hashes
   */
  merge(other: DynamicBloomFilter): void {
    const [own, others] = [this.#shape, other.#shape];
    const isAlike =
      own.filterCapacity === others.filterCapacity &&
      own.positions === others.positions &&
      own.hashes === others.hashes;
    if (!isAlike) {
      throw new UsageError('dynamic Bloom filters of different shapes cannot be merged', {
        hint: 'Create both with the same capacity, rate and capacity per filter.',
      });
    }
    assertHashed(other.#idHash);
    assertHashed(this.#idHash);
    const taken = other.#slices.filter((slice) => slice.elements > 0);
    this.#slices.push(...taken.map((slice) => ({ ...slice, words: slice.words.slice() })));
  }

  falsePositiveRate(): number {
    return rateOfAny(this.#slices, this.#shape);
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    const { filterCapacity, positions, hashes } = this.#shape;
    const numbers = [filterCapacity, positions, hashes, ...this.#slices.map((slice) => slice.elements)];
    return encodeSaved(
      'dynamic-bloom',
      numbers,
      this.#slices.map((slice) => bytesOver(slice.words)),
    );
  }

  #activeSlice(): Slice {
    const slices = this.#slices;
    while (this.#active < slices.length && slices[this.#active]!.elements >= this.#shape.filterCapacity) this.#active++;
    if (this.#active === slices.length) slices.push(emptySlice(this.#shape));
    return slices[this.#active]!;
  }
}
