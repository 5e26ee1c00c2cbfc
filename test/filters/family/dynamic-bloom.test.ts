import { describe, expect, it } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { DynamicBloomFilter } from '../../../src/filters/family/dynamic-bloom.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('dynamic Bloom filter', {
  make: (options) => DynamicBloomFilter.forCapacity(options),
  load: (bytes) => DynamicBloomFilter.load(bytes),
  mergeable: true,
  estimatesElements: true,
});

function idsOf(count: number, seed = 4): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

describe('the list', () => {
  it('grows by one filter when the last is full, also beyond its capacity', () => {
    const filter = DynamicBloomFilter.forCapacity({ capacity: 300, falsePositiveRate: 1e-9, filterCapacity: 100 });
    const bytesOfOne = filter.memoryBytes;
    const ids = idsOf(1000);
    for (const [index, id] of ids.entries()) {
      filter.add(id);
      expect(filter.filterCount).toBe(1 + Math.floor(index / 100));
    }
    expect(filter.memoryBytes).toBe(10 * bytesOfOne);
    expect(filter.elements).toBe(1000);
    for (const id of ids) expect(filter.has(id)).toBe(true);
  });

  it('does not grow for ids that are in', () => {
    const filter = DynamicBloomFilter.forCapacity({ capacity: 80, falsePositiveRate: 0.01 });
    const [id] = idsOf(1);
    for (let round = 0; round < 1000; round++) filter.add(id!);
    expect([filter.filterCount, filter.elements]).toEqual([1, 1]);
  });

  it('has the rate 1 - prod(1 - f_i)', () => {
    const one = DynamicBloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01, filterCapacity: 1000 });
    const other = DynamicBloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01, filterCapacity: 1000 });
    for (const id of idsOf(1000, 1)) one.add(id);
    for (const id of idsOf(600, 2)) other.add(id);
    const expected = 1 - (1 - one.falsePositiveRate()) * (1 - other.falsePositiveRate());
    one.merge(other);
    expect(one.falsePositiveRate()).toBeCloseTo(expected, 12);
    expect(expected).toBeGreaterThan(other.falsePositiveRate());
  });

  it('fills up what merging left open, and can take in itself', () => {
    const [one, other] = [1, 2].map((seed) => {
      const filter = DynamicBloomFilter.forCapacity({ capacity: 200, falsePositiveRate: 1e-9, filterCapacity: 100 });
      for (const id of idsOf(50, seed)) filter.add(id);
      return filter;
    });
    one!.merge(other!);
    expect(one!.filterCount).toBe(2);
    for (const id of idsOf(100, 3)) one!.add(id);
    expect(one!.filterCount).toBe(2);
    one!.add(idsOf(1, 5)[0]!);
    expect(one!.filterCount).toBe(3);
    one!.merge(one!);
    expect(one!.filterCount).toBe(6);
    for (const seed of [1, 2]) for (const id of idsOf(50, seed)) expect(one!.has(id)).toBe(true);
    expect(Buffer.compare(DynamicBloomFilter.load(one!.save()).save(), one!.save())).toBe(0);
  });

  it('shares nothing with what it took in', () => {
    const [one, other] = [0, 1].map(() => DynamicBloomFilter.forCapacity({ capacity: 80, falsePositiveRate: 1e-9 }));
    const ids = idsOf(20);
    other!.add(ids[0]!);
    const before = other!.save();
    one!.merge(other!);
    for (const id of ids) one!.add(id);
    expect(Buffer.compare(other!.save(), before)).toBe(0);
  });

  it('refuses saved bits behind the end of a filter', () => {
    const filter = DynamicBloomFilter.forCapacity({ capacity: 8, falsePositiveRate: 0.01, filterCapacity: 8 });
    filter.add(idsOf(1)[0]!);
    const { numbers, arrays } = decodeSaved('dynamic-bloom', filter.save());
    expect(numbers[1]! % 32).not.toBe(0);
    expect(DynamicBloomFilter.load(encodeSaved('dynamic-bloom', numbers, arrays)).elements).toBe(1);
    arrays[0]![arrays[0]!.length - 1]! |= 0x80;
    expect(() => DynamicBloomFilter.load(encodeSaved('dynamic-bloom', numbers, arrays))).toThrow(CorruptDataError);
  });

  it('refuses what is too large', () => {
    const options = { falsePositiveRate: 0.01, filterCapacity: 1e9 };
    expect(() => DynamicBloomFilter.forCapacity({ capacity: 1e9, ...options })).toThrow(UsageError);
    expect(() => DynamicBloomFilter.forCapacity({ capacity: 0, falsePositiveRate: 0.01 })).toThrow(UsageError);
    expect(() => DynamicBloomFilter.forCapacity({ capacity: 9, falsePositiveRate: 1e-40 })).toThrow(UsageError);
  });
});
