import { UsageError } from '../../core/errors.ts';
import { rateOfAny } from './bloom-slice.ts';
import { CountingPositions } from './counting-positions.ts';
import { isPossible, type CountingShape } from './counting-shape.ts';
import { planList, type ListOptions } from './filter-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { ErasableFilter, MergeableFilter } from './membership-filter.ts';
import type { Trace } from './trace.ts';
import { PackedCounters, wordsFor, type CounterBits } from './packed-counters.ts';
import { bytesOfWords, checkSaved, decodeSaved, encodeSaved, isWholeNumber, wordsOfBytes } from './saved-filter.ts';

export type DynamicCountingOptions = ListOptions & IdHashOption;

/** One counting Bloom filter of the list. */
interface Counted {
  readonly counters: PackedCounters;
  elements: number;
}

const NAME = 'dynamic-count';
/** A counter reaches 15 with a probability of 2^-49 if each id is added once. */
const COUNTER_BITS: CounterBits = 4;
const SEED = 0;

/**
 * Dynamic Bloom filter with deletes: a list of equal counting Bloom filters of m counters and k hashes. An id is added
 * to the first filter with fewer than c ids; if all are full, a filter is appended. An id is present if any filter has
 * it.
 *
 * `delete` asks all filters. If exactly one has the id, it decrements the counters there, and then adds that filter to
 * another one if they have fewer than c ids together. If several have the id, one of them by chance or because the id
 * was added again, it is unknown which counters are its own: the delete is refused, and the id stays. So no delete of an
 * id that was added causes a false negative. Of ids that were added once, as many are refused as the other filters
 * together say "perhaps", nearly the false positive rate at that time; later, when filters have been put together, a
 * delete may succeed.
 *
 * FPR `1 - prod(1 - f_i)` as for `DynamicBloomFilter`, with f_i = (X_i / m)^k for X_i counters above 0. Memory: four
 * times that of `DynamicBloomFilter`, with counters of 4 bits. Adding an id again counts twice.
 *
 * Source: Guo, Wu, Chen, Yuan, Luo: "The Dynamic Bloom Filters" (IEEE TKDE 22, 2010), with deletes and unions.
 */
export class DynamicCountingFilter implements ErasableFilter, MergeableFilter<DynamicCountingFilter> {
  readonly name = 'dynamic-count';
  /** c */
  readonly filterCapacity: number;
  readonly #shape: CountingShape;
  readonly #positions: CountingPositions;
  readonly #filters: Counted[];
  /** All filters before this index are full. */
  #active = 0;

  private constructor(filterCapacity: number, shape: CountingShape, filters: Counted[], idHash?: IdHash) {
    this.filterCapacity = filterCapacity;
    this.#shape = shape;
    this.#positions = new CountingPositions(shape, idHash);
    this.#filters = filters;
  }

  /** @throws UsageError if a value is out of range */
  static forCapacity(options: DynamicCountingOptions): DynamicCountingFilter {
    const { filterCapacity, positions, hashes } = planList(options);
    const shape = shapeOf(positions, hashes);
    return new DynamicCountingFilter(filterCapacity, shape, [emptyFilter(shape)], options.idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): DynamicCountingFilter {
    const { numbers, arrays } = decodeSaved(NAME, bytes);
    const [filterCapacity, positions, hashes, ...elements] = numbers;
    const isPlausible =
      isWholeNumber(filterCapacity, 1, Number.MAX_SAFE_INTEGER) &&
      arrays.length > 0 &&
      arrays.length === elements.length &&
      isPossible(shapeOf(positions!, hashes!));
    checkSaved(isPlausible, NAME, 'its numbers are inconsistent');
    const shape = shapeOf(positions!, hashes!);
    const filters = arrays.map((array, index) => {
      const count = elements[index];
      checkSaved(isWholeNumber(count, 0, filterCapacity), NAME, `filter ${index} has ${count} ids`);
      return loadFilter(array, shape, count, index);
    });
    return new DynamicCountingFilter(filterCapacity, shape, filters);
  }

  /** Number of ids that were added and not deleted; a refused delete changes nothing. */
  get elements(): number {
    return this.#filters.reduce((sum, filter) => sum + filter.elements, 0);
  }

  get memoryBytes(): number {
    return this.#filters.reduce((sum, { counters }) => sum + counters.words.byteLength, 0);
  }

  /** s: number of filters. */
  get filterCount(): number {
    return this.#filters.length;
  }

  add(id: Uint8Array): void {
    const filter = this.#activeFilter();
    filter.counters.increment(this.#positions.of(id));
    filter.elements++;
  }

  has(id: Uint8Array): boolean {
    return this.#matchFrom(0, this.#positions.of(id)) >= 0;
  }

  /** What `has` reads for an id: in the first filter, and in each further one if those before do not have it. */
  trace(id: Uint8Array): Trace {
    const { total: size } = this.#positions;
    const arrays = this.#filters.map(({ counters }) => ({
      size,
      valueAt: (position: number): number => counters.countAt(position),
    }));
    return { ...this.#positions.trace(id), unit: 'counter', arrays };
  }

  /**
   * Deletes an id once. Returns false and changes nothing if it is certainly absent, and if several filters have it;
   * then `has` remains true. Delete only ids that were added: deleting a false positive decrements counters of others.
   */
  delete(id: Uint8Array): boolean {
    const positions = this.#positions.of(id);
    const index = this.#matchFrom(0, positions);
    if (index < 0 || this.#matchFrom(index + 1, positions) >= 0) return false;
    const filter = this.#filters[index]!;
    filter.counters.decrement(positions);
    filter.elements--;
    this.#active = Math.min(this.#active, index);
    this.#fold(index);
    return true;
  }

  /**
   * Appends the filters of another list with the same shape, and adds those together that have fewer than c ids.
   * @throws UsageError if the filters differ in capacity, counters or hashes
   */
  merge(other: DynamicCountingFilter): void {
    const isAlike =
      this.filterCapacity === other.filterCapacity && JSON.stringify(this.#shape) === JSON.stringify(other.#shape);
    if (!isAlike) {
      throw new UsageError('dynamic Bloom filters of different shapes cannot be merged', {
        hint: 'Create both with the same capacity, rate and capacity per filter.',
      });
    }
    assertHashed(other.#positions.idHash);
    assertHashed(this.#positions.idHash);
    // Copied first: the other list may be this one.
    const copies = other.#filters.filter(({ elements }) => elements > 0).map(copyOf);
    for (const copy of copies) this.#fold(this.#filters.push(copy) - 1);
  }

  falsePositiveRate(): number {
    const fills = this.#filters.flatMap(({ counters, elements }) =>
      elements === 0 ? [] : [{ bitCount: counters.takenCount, elements }],
    );
    const { filterCapacity } = this;
    return rateOfAny(fills, { filterCapacity, positions: this.#shape.firstSize, hashes: this.#shape.hashes });
  }

  save(): Uint8Array {
    assertHashed(this.#positions.idHash);
    const { firstSize, hashes } = this.#shape;
    const numbers = [this.filterCapacity, firstSize, hashes, ...this.#filters.map(({ elements }) => elements)];
    return encodeSaved(
      NAME,
      numbers,
      this.#filters.map(({ counters }) => bytesOfWords(counters.words)),
    );
  }

  /** The first filter from `first` on that has an id at these positions, or -1. */
  #matchFrom(first: number, positions: Int32Array): number {
    const filters = this.#filters;
    for (let index = first; index < filters.length; index++) {
      const { counters, elements } = filters[index]!;
      // In an empty filter, only saturated counters are above 0.
      if (elements > 0 && counters.areTaken(positions)) return index;
    }
    return -1;
  }

  #activeFilter(): Counted {
    const filters = this.#filters;
    while (this.#active < filters.length && filters[this.#active]!.elements >= this.filterCapacity) this.#active++;
    if (this.#active === filters.length) filters.push(emptyFilter(this.#shape));
    return filters[this.#active]!;
  }

  /** Adds this filter to another one, or that one to this, if both together have fewer than c ids. */
  #fold(index: number): void {
    const filters = this.#filters;
    const { elements } = filters[index]!;
    const partner = filters.findIndex((filter, at) => at !== index && filter.elements + elements < this.filterCapacity);
    if (partner < 0) return;
    const kept = filters[Math.min(index, partner)]!;
    const [gone] = filters.splice(Math.max(index, partner), 1);
    kept.counters.addAll(gone!.counters);
    kept.elements += gone!.elements;
  }
}

function shapeOf(positions: number, hashes: number): CountingShape {
  return { counterBits: COUNTER_BITS, hashes, isPartitioned: false, firstSize: positions, seed: SEED };
}

function emptyFilter({ firstSize }: CountingShape): Counted {
  return { counters: new PackedCounters(firstSize, COUNTER_BITS), elements: 0 };
}

function copyOf({ counters, elements }: Counted): Counted {
  return { counters: new PackedCounters(counters.length, COUNTER_BITS, counters.words.slice()), elements };
}

function loadFilter(array: Uint8Array<ArrayBuffer>, shape: CountingShape, elements: number, index: number): Counted {
  const neededBytes = wordsFor(shape.firstSize, COUNTER_BITS) * 4;
  checkSaved(array.length === neededBytes, NAME, `filter ${index} does not match the numbers`);
  const counters = new PackedCounters(shape.firstSize, COUNTER_BITS, wordsOfBytes(array));
  checkSaved(counters.isPaddedWithZeros(), NAME, `filter ${index} has data after its last counter`);
  const isSumRight = counters.saturatedCount > 0 || counters.sum() === elements * shape.hashes;
  checkSaved(isSumRight, NAME, `the counters of filter ${index} do not add up to ${elements} ids`);
  return { counters, elements };
}
