import { describe, expect, it } from 'vitest';
import { FilterFullError } from '../../../src/core/errors.ts';
import { startOf, strideOf } from '../../../src/core/ldm/positions.ts';
import { murmur3 } from '../../../src/core/util/murmur3.ts';
import { planArray, planGroup } from '../../../src/filters/family/array-plan.ts';
import { isInSlice } from '../../../src/filters/family/bloom-slice.ts';
import { DynamicBloomArray, type BloomArrayOptions } from '../../../src/filters/family/dynamic-bloom-array.ts';
import { decodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('dynamic Bloom filter array', {
  make: (options) => DynamicBloomArray.forCapacity(options),
  load: (bytes) => DynamicBloomArray.load(bytes),
  erasable: true,
  countsTwice: true,
});

const CAPACITY = 400;

function make(options: Partial<BloomArrayOptions> = {}): DynamicBloomArray {
  return DynamicBloomArray.forCapacity({ capacity: CAPACITY, falsePositiveRate: 0.01, ...options });
}

function idsOf(count: number, seed: number): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

/** What the array is an index of: it knows the ids of each subset. */
class Store {
  readonly subsets = new Map<number, Buffer[]>();

  put(subset: number, id: Buffer): void {
    this.subsets.set(subset, [...this.idsOf(subset), id]);
  }

  take(subset: number, id: Buffer): void {
    const ids = this.idsOf(subset);
    const at = ids.indexOf(id);
    expect(at).toBeGreaterThanOrEqual(0);
    this.subsets.set(subset, ids.toSpliced(at, 1));
  }

  readonly idsOf = (subset: number): Buffer[] => this.subsets.get(subset) ?? [];

  get count(): number {
    return [...this.subsets.values()].reduce((sum, ids) => sum + ids.length, 0);
  }
}

describe.each([
  ['with the ids of the store', true],
  ['without them', false],
])('the array, %s,', (_name, hasIds) => {
  it.each(seedsOf(2, 20))('never loses an id, whatever is added, deleted and saved (seed %i)', (seed) => {
    const random = createPrng(seed);
    const store = new Store();
    const options = hasIds ? { idsOf: store.idsOf } : {};
    // A rate of a half, so that deletes are often matched by several filters.
    let array = make({ falsePositiveRate: 0.5, groupFilters: 4, ...options });
    const places: { readonly id: Buffer; readonly subset: number }[] = [];
    let [unplaced, dropped] = [0, 0];
    for (let step = 0; step < inSoak(60_000, 4500); step++) {
      const isGrowing = Math.floor(step / 1500) % 2 === 0;
      if (places.length === 0 || random.int(10) < (isGrowing ? 7 : 2)) {
        const id = random.int(20) === 0 && places.length > 0 ? random.pick(places).id : random.bytes(20);
        const subset = array.add(id);
        store.put(subset, id);
        places.push({ id, subset });
      } else {
        const [{ id, subset }] = places.splice(random.int(places.length), 1) as [(typeof places)[number]];
        const groups = array.groupCount;
        const isKnown = random.int(2) === 0;
        if (!isKnown && array.subsetsOf(id).length > 1) unplaced++;
        store.take(subset, id);
        expect(isKnown ? array.delete(id, subset) : array.delete(id)).toBe(true);
        dropped += groups - array.groupCount;
      }
      expect(array.elements).toBe(places.length);
      if (step % 400 !== 0) continue;
      array = DynamicBloomArray.load(array.save(), options);
      expect(places.filter((place) => !array.subsetsOf(place.id).includes(place.subset))).toEqual([]);
    }
    expect(store.count).toBe(places.length);
    expect(unplaced).toBeGreaterThan(100);
    // Without ids, hardly a filter is ever empty: some of its deletes were not counted in it.
    if (hasIds) expect(dropped).toBeGreaterThan(0);
    for (const { id, subset } of places.splice(0)) {
      store.take(subset, id);
      expect(array.has(id)).toBe(true);
      array.delete(id, subset);
    }
    expect([array.elements, array.memoryBytes, array.falsePositiveRate()]).toEqual([0, 0, 0]);
  });
});

describe('the layout', () => {
  it.each([1, 3, 8, 32])('with %i filters per group answers like separate filters', (groupFilters) => {
    const array = make({ groupFilters, falsePositiveRate: 0.3 });
    for (const id of idsOf(1200, 1)) array.add(id);
    const plan = planArray({ capacity: CAPACITY, falsePositiveRate: 0.3, groupFilters });
    const filters = decodeSaved('bloom-array', array.save()).arrays.map((bytes) => new Uint32Array(bytes.buffer));
    const shapes = filters.map((_, subset) => planGroup(plan, Math.floor(subset / groupFilters))!);
    const hash = new Uint32Array(4);
    let found = 0;
    for (const id of idsOf(3000, 2)) {
      murmur3(id, 0, hash);
      const expected = filters.flatMap((words, subset) => {
        const shape = shapes[subset]!;
        const [start, stride] = [startOf(hash, 0, shape.positions), strideOf(hash, 0, shape.positions)];
        return words.length > 0 && isInSlice(words, start, stride, shape) ? [subset] : [];
      });
      expect([array.has(id), ...array.subsetsOf(id)]).toEqual([expected.length > 0, ...expected]);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(100);
  });

  it('allocates no more than twice what its filters need, and a group only when it is needed', () => {
    const array = make();
    const plan = planArray({ capacity: CAPACITY, falsePositiveRate: 0.01 });
    const bitsOf = [0, 1, 2].map((group) => planGroup(plan, group)!.positions);
    for (const [index, id] of idsOf(3 * CAPACITY, 3).entries()) {
      expect(array.add(id)).toBe(Math.floor(index / 50));
      expect(array.groupCount).toBe(1 + Math.floor(index / CAPACITY));
      const filters = 1 + Math.floor(index / 50);
      const bits = Array.from({ length: filters }, (_, filter) => bitsOf[Math.floor(filter / 8)]!).reduce(
        (sum, each) => sum + each,
      );
      expect(array.memoryBytes * 8).toBeGreaterThanOrEqual(bits);
      expect(array.memoryBytes * 8).toBeLessThan(2 * bits + 32);
      if (filters % 8 === 0) expect(array.memoryBytes * 8).toBeLessThan(bits + 32 * array.groupCount);
    }
  });
});

it('a group without ids takes no memory, and is filled again before another one is opened', () => {
  const array = make();
  const places = idsOf(3 * CAPACITY, 11).map((id) => ({ id, subset: array.add(id) }));
  const bytes = array.memoryBytes;
  const deleteGroup = (group: number): void => {
    for (const { id, subset } of places) if (Math.floor(subset / 8) === group) array.delete(id, subset);
  };
  deleteGroup(1);
  expect([array.groupCount, array.elements]).toEqual([2, 2 * CAPACITY]);
  expect(array.memoryBytes).toBeLessThan(bytes * 0.7);
  expect(Buffer.compare(DynamicBloomArray.load(array.save()).save(), array.save())).toBe(0);
  const [id] = idsOf(1, 12);
  expect(array.add(id!)).toBe(8);
  array.delete(id!);
  deleteGroup(2);
  expect([array.groupCount, array.elements]).toEqual([1, CAPACITY]);
  expect(Buffer.compare(DynamicBloomArray.load(array.save()).save(), array.save())).toBe(0);
  expect(places.filter((place) => place.subset < 8 && !array.has(place.id))).toEqual([]);
});

describe('the rate', () => {
  it('is kept with 20 times as many ids, at a few more bits for each', () => {
    // In small filters, the floor of double hashing takes more.
    const array = make({ capacity: 20_000 });
    const random = createPrng(4);
    const bits = [1, 20].map((times) => {
      while (array.elements < 20_000 * times) array.add(random.bytes(20));
      expect(array.falsePositiveRate()).toBeLessThan(0.01);
      return (array.memoryBytes * 8) / array.elements;
    });
    expect(bits[0]).toBeLessThan(16);
    expect(bits[1]).toBeLessThan(25);
    const probes = inSoak(400_000, 40_000);
    let hits = 0;
    for (let probe = 0; probe < probes; probe++) if (array.has(random.bytes(20))) hits++;
    const predicted = array.falsePositiveRate();
    expect(Math.abs(hits / probes - predicted)).toBeLessThan(5 * Math.sqrt(predicted / probes));
  });

  it('falls after deletes if the store has the ids, and otherwise when a filter is empty', () => {
    const store = new Store();
    const [lazy, fresh] = [make({ capacity: 4000 }), make({ capacity: 4000, idsOf: store.idsOf })];
    const places = idsOf(4000, 5).map((id) => ({ id, subset: lazy.add(id) }));
    for (const { id } of places) store.put(fresh.add(id), id);
    const full = fresh.falsePositiveRate();
    for (const [index, { id, subset }] of places.entries()) {
      if (index % 2 === 0) continue;
      store.take(subset, id);
      for (const array of [lazy, fresh]) expect(array.delete(id, subset)).toBe(true);
    }
    expect([lazy.elements, fresh.elements]).toEqual([2000, 2000]);
    expect(lazy.falsePositiveRate()).toBe(full);
    expect(fresh.falsePositiveRate()).toBeLessThan(full / 20);
    // A quarter of a filter may still be of deleted ids.
    const found = places.filter(({ id }, index) => index % 2 === 1 && fresh.has(id)).length;
    expect(found).toBeLessThan(10);
    for (const [index, { id, subset }] of places.entries())
      if (index % 2 === 0 && subset === 3) lazy.delete(id, subset);
    expect(lazy.falsePositiveRate()).toBeCloseTo((full * 7) / 8, 4);
    expect(places.some(({ id, subset }) => subset === 3 && lazy.subsetsOf(id).includes(3))).toBe(false);
    // The empty one is filled next, and has nothing else; of the others, the first that was made again has room.
    expect(lazy.add(places[0]!.id)).toBe(3);
    expect(places.filter(({ id }) => lazy.subsetsOf(id).includes(3)).length).toBe(1);
    expect(fresh.add(places[0]!.id)).toBe(0);
  });
});

it('an array that could not keep its rate says that it is full', () => {
  const array = make({ filterCapacity: 1, groupFilters: 1, falsePositiveRate: 1e-9 });
  const ids = idsOf(10, 6);
  array.add(ids[0]!);
  expect(() => ids.forEach((id) => array.add(id))).toThrow(FilterFullError);
  expect(array.has(ids[0]!)).toBe(true);
});

it('ids that are not those of a subset are noticed when it is made again', () => {
  const array = make({ filterCapacity: 8, idsOf: () => idsOf(8, 8) });
  for (const id of idsOf(8, 7)) array.add(id);
  const [first, second] = idsOf(2, 7);
  array.delete(first!);
  expect(() => array.delete(second!)).toThrow(/subset 0/);
});

it('a delete from a subset that does not have the id changes nothing', () => {
  const array = make({ filterCapacity: 8, falsePositiveRate: 1e-6 });
  const ids = idsOf(20, 9);
  for (const id of ids) array.add(id);
  const before = array.save();
  for (const subset of [1, 2, 3, 99, -1, 0.5]) expect(array.delete(ids[0]!, subset)).toBe(false);
  expect(Buffer.compare(array.save(), before)).toBe(0);
  expect(array.delete(ids[0]!, 0)).toBe(true);
});
