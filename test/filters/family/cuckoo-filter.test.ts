import { describe, expect, it } from 'vitest';
import { FilterFullError, UsageError } from '../../../src/core/errors.ts';
import { CuckooFilter } from '../../../src/filters/family/cuckoo-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('cuckoo filter', {
  make: (options) => CuckooFilter.forCapacity(options),
  load: (bytes) => CuckooFilter.load(bytes),
  erasable: true,
  countsTwice: true,
});

const SEED = 3;

function idsOf(count: number, seed = SEED): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

/** Adds until there is no room. Returns what was accepted. */
function fill(filter: CuckooFilter, ids: readonly Buffer[]): Buffer[] {
  const accepted: Buffer[] = [];
  for (const id of ids) {
    try {
      filter.add(id);
    } catch (error) {
      expect(error).toBeInstanceOf(FilterFullError);
      return accepted;
    }
    accepted.push(id);
  }
  throw new Error('it was never full');
}

describe('size', () => {
  it.each([
    [0.01, 10],
    [0.001, 13],
    [0.03125, 8],
    [0.5, 8],
    [1e-6, 23],
    [3.8e-9, 31],
  ])('a rate of %d takes fingerprints of %d bits', (falsePositiveRate, bits) => {
    expect(CuckooFilter.forCapacity({ capacity: 100, falsePositiveRate }).fingerprintBits).toBe(bits);
  });

  it('refuses what it cannot reach', () => {
    expect(() => CuckooFilter.forCapacity({ capacity: 0, falsePositiveRate: 0.01 })).toThrow(UsageError);
    expect(() => CuckooFilter.forCapacity({ capacity: 3e8, falsePositiveRate: 0.01 })).toThrow(UsageError);
    expect(() => CuckooFilter.forCapacity({ capacity: 10, falsePositiveRate: 1e-9 })).toThrow(UsageError);
    expect(() => CuckooFilter.forCapacity({ capacity: 10, falsePositiveRate: 1 })).toThrow(UsageError);
  });

  it.each([1, 2, 7, 15, 30, 60, 243, 972, 3891])('has room for %d ids when it is made for them', (capacity) => {
    for (let seed = 0; seed < 2000 / capacity; seed++) {
      const filter = CuckooFilter.forCapacity({ capacity, falsePositiveRate: 0.01 });
      for (const id of idsOf(capacity, seed)) filter.add(id);
      expect(filter.elements).toBe(capacity);
    }
  });

  it('is filled above 93 % before it is full', () => {
    const filter = CuckooFilter.forCapacity({ capacity: 3500, falsePositiveRate: 0.01 });
    fill(filter, idsOf(5000));
    expect(filter.load).toBeGreaterThan(0.93);
  });
});

describe.each([0.04, 0.01, 0.004, 0.0001, 1e-8])('a full one at a rate of %d', (falsePositiveRate) => {
  it('is as it was before the id that found no room, and goes on after a delete', () => {
    const filter = CuckooFilter.forCapacity({ capacity: 400, falsePositiveRate });
    const ids = idsOf(2000);
    const accepted = fill(filter, ids);
    const before = filter.save();
    for (let round = 0; round < 20; round++) {
      try {
        filter.add(ids[accepted.length + round]!);
        accepted.push(ids[accepted.length + round]!);
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(FilterFullError);
        expect(Buffer.compare(filter.save(), before)).toBe(0);
      }
    }
    for (const id of accepted) expect(filter.has(id)).toBe(true);
    for (const id of accepted) expect(filter.delete(id)).toBe(true);
    expect(filter.elements).toBe(0);
    expect(filter.falsePositiveRate()).toBe(0);
    for (const id of accepted) expect(filter.has(id)).toBe(false);
  });
});

describe('one id many times', () => {
  it.each([1, 100, 5000])('is in eight times at most, at a capacity of %d', (capacity) => {
    for (const [index, id] of idsOf(50).entries()) {
      const filter = CuckooFilter.forCapacity({ capacity, falsePositiveRate: 0.01 });
      const others = idsOf(Math.floor(capacity / 10), 100 + index);
      for (const other of others) filter.add(other);
      const copies = fill(filter, Array<Buffer>(20).fill(id)).length;
      expect(copies).toBeLessThanOrEqual(8);
      if (others.length === 0) expect(copies).toBe(8);
      for (let left = copies; left > 0; left--) expect(filter.delete(id)).toBe(true);
      expect(filter.elements).toBe(others.length);
      for (const other of others) expect(filter.has(other)).toBe(true);
    }
  });
});
