import { describe, expect, it } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { DynamicCountingFilter } from '../../../src/filters/family/dynamic-counting.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('dynamic counting Bloom filter', {
  make: (options) => DynamicCountingFilter.forCapacity(options),
  load: (bytes) => DynamicCountingFilter.load(bytes),
  erasable: true,
  mergeable: true,
  countsTwice: true,
  refusesDeletes: true,
});

const CAPACITY = 400;
/** So high that about one delete in ten finds two filters. */
const RATE = 0.1;

function make(options: Partial<Parameters<typeof DynamicCountingFilter.forCapacity>[0]> = {}): DynamicCountingFilter {
  return DynamicCountingFilter.forCapacity({ capacity: CAPACITY, falsePositiveRate: RATE, ...options });
}

function idsOf(count: number, seed: number): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

describe('the list', () => {
  it.each(seedsOf(2, 20))('never loses an id, whatever is added, deleted and refused (seed %i)', (seed) => {
    const random = createPrng(seed);
    const filter = make();
    const pool = idsOf(1500, seed);
    const counts = new Map(pool.map((id) => [id, 0]));
    let [deleted, refused, folded] = [0, 0, 0];
    for (let step = 0; step < inSoak(60_000, 6000); step++) {
      // It grows and shrinks in turn.
      const isGrowing = Math.floor(step / 1500) % 2 === 0;
      const id = random.pick(pool);
      const count = counts.get(id)!;
      if (random.int(10) < (isGrowing ? 7 : 3)) {
        // One that is in another filter already could never be deleted again.
        if (count > 0 && random.int(50) > 0) continue;
        filter.add(id);
        counts.set(id, count + 1);
      } else if (count > 0) {
        const filters = filter.filterCount;
        if (filter.delete(id)) {
          counts.set(id, count - 1);
          deleted++;
          folded += filters - filter.filterCount;
        } else refused++;
      }
      if (step % 500 === 0) for (const [each, times] of counts) if (times > 0) expect(filter.has(each)).toBe(true);
    }
    for (const [id, count] of counts) if (count > 0) expect(filter.has(id)).toBe(true);
    expect(filter.elements).toBe([...counts.values()].reduce((sum, count) => sum + count, 0));
    // All three happened, and filters were put together.
    expect(Math.min(deleted, refused)).toBeGreaterThan(100);
    expect(folded).toBeGreaterThan(0);
  });

  it('refuses as many deletes as the other filters have false positives, and finds what it refused', () => {
    const filter = make({ capacity: 4000 });
    const ids = idsOf(4000, 1);
    for (const id of ids) filter.add(id);
    // Seven filters can be wrong, but the filter of the id is right.
    const expected = 1 - (1 - filter.falsePositiveRate()) ** (7 / 8);
    // Each is added again, so that the others stay as they are.
    const refused = ids.filter((id) => {
      const before = filter.save();
      const isDeleted = filter.delete(id);
      expect(isDeleted || Buffer.compare(filter.save(), before) === 0).toBe(true);
      if (isDeleted) filter.add(id);
      return !isDeleted;
    });
    expect(refused.length / ids.length).toBeGreaterThan(expected - 5 * Math.sqrt(expected / ids.length));
    expect(refused.length / ids.length).toBeLessThan(expected + 5 * Math.sqrt(expected / ids.length));
    for (const id of refused) expect(filter.has(id)).toBe(true);
  });

  it('refuses to delete an id that was added to two filters', () => {
    const filter = make({ falsePositiveRate: 1e-9, filterCapacity: 10 });
    const [twice, ...others] = idsOf(20, 2);
    filter.add(twice!);
    for (const id of others) filter.add(id);
    filter.add(twice!);
    expect(filter.filterCount).toBe(3);
    expect([filter.delete(twice!), filter.has(twice!), filter.elements]).toEqual([false, true, 21]);
  });

  it('puts two filters together as soon as they have fewer ids than one may have', () => {
    const filter = make({ falsePositiveRate: 1e-9, filterCapacity: 10 });
    const ids = idsOf(30, 3);
    for (const id of ids) filter.add(id);
    const bytesOfThree = filter.memoryBytes;
    const countsAfter = ids.slice(0, 22).map((id) => {
      expect(filter.delete(id)).toBe(true);
      return filter.filterCount;
    });
    // The first filter empties while the others are full; the second then loses one and takes it in, and so does the third.
    expect(countsAfter).toEqual([...Array(10).fill(3), ...Array(10).fill(2), ...Array(2).fill(1)]);
    expect(filter.memoryBytes).toBe(bytesOfThree / 3);
    for (const id of ids.slice(22)) expect(filter.has(id)).toBe(true);
    expect([filter.elements, ids.slice(0, 22).some((id) => filter.has(id))]).toEqual([8, false]);
    for (const id of ids.slice(22)) expect(filter.delete(id)).toBe(true);
    const empty = make({ falsePositiveRate: 1e-9, filterCapacity: 10 });
    expect(Buffer.compare(filter.save(), empty.save())).toBe(0);
  });

  it('has nothing once it is empty, even if counters are saturated', () => {
    const filter = make();
    const [id] = idsOf(1, 7);
    for (let time = 0; time < 20; time++) filter.add(id!);
    for (let time = 0; time < 20; time++) expect(filter.delete(id!)).toBe(true);
    expect([filter.elements, filter.has(id!), filter.delete(id!), filter.falsePositiveRate()]).toEqual([
      0,
      false,
      false,
      0,
    ]);
  });

  it('takes in another list, and itself', () => {
    const [one, other] = [4, 5].map((seed) => {
      const filter = make({ falsePositiveRate: 1e-9, filterCapacity: 10 });
      for (const id of idsOf(14, seed)) filter.add(id);
      return filter;
    });
    one!.merge(other!);
    // 10 + 4 and 10 + 4: the two that are not full are put together.
    expect([one!.filterCount, one!.elements]).toEqual([3, 28]);
    one!.merge(one!);
    expect(one!.elements).toBe(56);
    for (const seed of [4, 5]) for (const id of idsOf(14, seed)) expect(one!.has(id)).toBe(true);
    expect(Buffer.compare(DynamicCountingFilter.load(one!.save()).save(), one!.save())).toBe(0);
  });

  it('refuses saved counters that do not add up to its ids', () => {
    const filter = make();
    filter.add(idsOf(1, 6)[0]!);
    const { numbers, arrays } = decodeSaved('dynamic-count', filter.save());
    const forged = encodeSaved('dynamic-count', [...numbers.slice(0, 3), 2], arrays);
    expect(() => DynamicCountingFilter.load(forged)).toThrow(CorruptDataError);
  });

  it('refuses what is too large', () => {
    expect(() => make({ capacity: 2e9, filterCapacity: 1e9 })).toThrow(UsageError);
    expect(() => make({ capacity: 0 })).toThrow(UsageError);
    expect(() => make({ falsePositiveRate: 1e-40 })).toThrow(UsageError);
  });
});
