import assert from 'node:assert/strict';
import { FilterFullError } from '../../core/errors.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { startOf, strideOf } from '../../core/ldm/positions.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { planArray, planGroup, type ArrayOptions, type ArrayPlan } from './array-plan.ts';
import { BloomGroup } from './bloom-group.ts';
import { addToSlice, emptySlice } from './bloom-slice.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { ErasableFilter } from './membership-filter.ts';
import { loadArray, type SavedArray } from './saved-array.ts';
import { encodeSaved } from './saved-filter.ts';
import type { SlotTrace } from './trace.ts';

/** The ids of a subset that are live, from the store that the array is an index of. */
export type IdsOf = (subset: number) => Iterable<Uint8Array>;

export interface BloomArrayOptions extends ArrayOptions, IdHashOption {
  /** With it, a filter is made again when a quarter of its capacity was deleted; without it, when all its ids were. */
  readonly idsOf?: IdsOf;
}

/** A filter is made again when this share of its capacity was deleted. */
const REBUILD_SHARE = 1 / 4;
const SEED = 0;

/**
 * Dynamic Bloom filter array: Bloom filters of at most c ids each, in groups of G. Each filter has a subset of the ids,
 * so a match says where to look. The filters of a group are equal, and their bits of one position are next to each
 * other, as in the planes of a realm: a look-up reads k cells of G bits for each group and combines them with AND.
 *
 * It grows by filters, and a group allocates no bits for filters that it does not have yet (their number is rounded up
 * to a power of two). FPR `1 - prod(1 - f_i)` over all filters, with f_i = (X_i / m)^k for X_i set bits, plus
 * `repeatRate` in each. Group g is made for the rate `rate / ((g + 1)(g + 2))`. Since these shares add up to the rate, it
 * holds for any number of ids; each group needs a little more memory for an id than the one before. Adding an id again
 * counts twice.
 *
 * Deletes are lazy: `delete` only counts, and the bits stay until the filter is made again of the ids that are left.
 *
 * Source: Wei, Jiang, Zhou, Feng: "DBA: A Dynamic Bloom Filter Array for Scalable Membership Representation of Variable
 * Large Data Sets" (MASCOTS 2011), for groups, layout, subsets and lazy deletes. How the rate is shared, and when a
 * filter is made again, is chosen here.
 */
export class DynamicBloomArray implements ErasableFilter {
  readonly name = 'bloom-array';
  readonly #plan: ArrayPlan;
  readonly #groups: (BloomGroup | undefined)[];
  readonly #idHash: IdHash;
  readonly #idsOf: IdsOf | undefined;
  readonly #hash: Uint32Array = new Uint32Array(4);
  /** All subsets before this one are full. */
  #active = 0;
  /** Number of deleted ids that several filters matched, so that it is unknown whose they were. */
  #unplaced: number;
  #elements: number;

  private constructor(saved: SavedArray, { idHash = murmur3, idsOf }: Pick<BloomArrayOptions, 'idHash' | 'idsOf'>) {
    this.#plan = saved.plan;
    this.#groups = saved.groups;
    this.#unplaced = saved.unplaced;
    this.#elements = saved.groups.reduce((sum, group) => sum + (group?.liveCount ?? 0), 0) - saved.unplaced;
    this.#idHash = idHash;
    this.#idsOf = idsOf;
  }

  /** @throws UsageError if a value is out of range */
  static forCapacity(options: BloomArrayOptions): DynamicBloomArray {
    return new DynamicBloomArray({ plan: planArray(options), groups: [], unplaced: 0 }, options);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array, { idsOf }: Pick<BloomArrayOptions, 'idsOf'> = {}): DynamicBloomArray {
    refuseBigEndian();
    return new DynamicBloomArray(loadArray(bytes), idsOf === undefined ? {} : { idsOf });
  }

  /** Number of ids that were added and not deleted. */
  get elements(): number {
    return this.#elements;
  }

  get memoryBytes(): number {
    return this.#groups.reduce((sum, group) => sum + (group?.memoryBytes ?? 0), 0);
  }

  /** Number of groups that have ids. */
  get groupCount(): number {
    return this.#groups.filter((group) => group !== undefined).length;
  }

  /**
   * Adds an id to the first subset with room, and returns the number of that subset.
   * @throws FilterFullError if no further group can keep the rate
   */
  add(id: Uint8Array): number {
    const subset = this.#activeSubset();
    const group = this.#openGroup(subset);
    this.#idHash(id, SEED, this.#hash);
    group.add(subset % this.#plan.groupFilters, this.#hash);
    this.#elements++;
    return subset;
  }

  has(id: Uint8Array): boolean {
    this.#idHash(id, SEED, this.#hash);
    for (const group of this.#groups) if (group !== undefined && group.matches(this.#hash) !== 0) return true;
    return false;
  }

  /** What `has` reads for an id: k cells of each group, which have a bit of each of its filters. */
  trace(id: Uint8Array): SlotTrace {
    const subsets = this.subsetsOf(id);
    const groups = this.#groups.flatMap((group, index) => group?.trace(this.#hash, index + 1) ?? []);
    return {
      hashes: groups.map(({ hash }) => hash),
      slots: groups.flatMap(({ slots }) => slots),
      format: (cell) => cell.toString(2).padStart(this.#plan.groupFilters, '0'),
      isFound: subsets.length > 0,
      reason: subsets.length > 0 ? `no bit of subset ${subsets[0]} is 0` : 'in each group, every filter has a 0',
    };
  }

  /** The subsets that may have an id, in ascending order. */
  subsetsOf(id: Uint8Array): number[] {
    this.#idHash(id, SEED, this.#hash);
    return this.#groups.flatMap((group, index) => {
      const subsets: number[] = [];
      for (let left = group?.matches(this.#hash) ?? 0; left !== 0; left &= left - 1) {
        subsets.push(index * this.#plan.groupFilters + 31 - Math.clz32(left & -left));
      }
      return subsets;
    });
  }

  /**
   * Counts an id as deleted and returns true, or returns false if it is certainly absent. Its bits stay, so `has` may
   * remain true. Delete only ids that were added, and no id more often than it was added. If `idsOf` was given, it must
   * no longer have the id.
   * @param subset - what `add` returned. Without it, a delete that several filters match does not bring any of them
   *   nearer to being made again.
   */
  delete(id: Uint8Array, subset?: number): boolean {
    const subsets = this.subsetsOf(id);
    const place = subset ?? (subsets.length === 1 ? subsets[0]! : undefined);
    if (subsets.length === 0 || (place !== undefined && !subsets.includes(place))) return false;
    this.#elements--;
    if (this.#elements === 0) this.#clear();
    else if (place === undefined) this.#unplaced++;
    else this.#deleteFrom(place);
    return true;
  }

  falsePositiveRate(): number {
    return -Math.expm1(this.#groups.reduce((sum, group) => sum + (group?.logOfMiss() ?? 0), 0)) || 0;
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    const { filterCapacity, groupFilters, falsePositiveRate } = this.#plan;
    const numbers = [filterCapacity, groupFilters, falsePositiveRate, this.#unplaced];
    const arrays: Uint8Array[] = [];
    for (const group of this.#groups) {
      for (let slot = 0; slot < groupFilters; slot++) {
        const { elements, deleted } = group?.filters[slot] ?? { elements: 0, deleted: 0 };
        numbers.push(elements, deleted);
        arrays.push(elements === 0 ? new Uint8Array(0) : bytesOver(group!.read(slot)));
      }
    }
    return encodeSaved(this.name, numbers, arrays);
  }

  #activeSubset(): number {
    const { filterCapacity } = this.#plan;
    while ((this.#filterAt(this.#active)?.elements ?? 0) >= filterCapacity) this.#active++;
    return this.#active;
  }

  #filterAt(subset: number): BloomGroup['filters'][number] | undefined {
    const { groupFilters } = this.#plan;
    return this.#groups[Math.floor(subset / groupFilters)]?.filters[subset % groupFilters];
  }

  #openGroup(subset: number): BloomGroup {
    const index = Math.floor(subset / this.#plan.groupFilters);
    const existing = this.#groups[index];
    if (existing !== undefined) return existing;
    const shape = planGroup(this.#plan, index);
    if (shape === undefined) {
      throw new FilterFullError(`an array of ${index} groups of Bloom filters cannot grow within its rate`, {
        hint: 'Create a filter with a larger capacity and add all ids again.',
      });
    }
    return (this.#groups[index] = new BloomGroup(shape, this.#plan.groupFilters));
  }

  #deleteFrom(subset: number): void {
    const filter = this.#filterAt(subset)!;
    const idsOf = this.#idsOf;
    filter.deleted++;
    if (filter.deleted === filter.elements) this.#clearSubset(subset);
    else if (idsOf !== undefined && filter.deleted >= this.#plan.filterCapacity * REBUILD_SHARE) {
      this.#rebuild(subset, idsOf(subset));
    }
  }

  /** Makes a filter again of the ids that are left. */
  #rebuild(subset: number, ids: Iterable<Uint8Array>): void {
    const group = this.#groups[Math.floor(subset / this.#plan.groupFilters)]!;
    const { positions } = group.shape;
    const { elements, deleted } = this.#filterAt(subset)!;
    const slice = emptySlice(group.shape);
    for (const id of ids) {
      this.#idHash(id, SEED, this.#hash);
      addToSlice(slice, startOf(this.#hash, 0, positions), strideOf(this.#hash, 0, positions), group.shape);
    }
    // Deletes of this subset that several filters matched were not counted in it.
    const found = elements - deleted - slice.elements;
    assert(found >= 0 && found <= this.#unplaced, `the ids of subset ${subset} are not those that were added to it`);
    this.#unplaced -= found;
    if (slice.elements === 0) return this.#clearSubset(subset);
    group.replace(subset % this.#plan.groupFilters, slice);
    this.#active = Math.min(this.#active, subset);
  }

  /** Removes the ids of a subset, and the group if it was the last one there. */
  #clearSubset(subset: number): void {
    const { groupFilters } = this.#plan;
    const index = Math.floor(subset / groupFilters);
    const group = this.#groups[index]!;
    group.clear(subset % groupFilters);
    this.#active = Math.min(this.#active, subset);
    if (!group.isEmpty) return;
    this.#groups[index] = undefined;
    while (this.#groups.length > 0 && this.#groups.at(-1) === undefined) this.#groups.pop();
  }

  #clear(): void {
    this.#groups.length = 0;
    this.#active = 0;
    this.#unplaced = 0;
  }
}
