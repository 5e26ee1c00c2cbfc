import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FilterFullError, UsageError } from '../../../src/core/errors.ts';
import { IndexedFilter } from '../../../src/filters/family/indexed-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('index-carrying filter', {
  make: ({ falsePositiveRate }) => IndexedFilter.withRate({ falsePositiveRate }),
  load: (bytes) => IndexedFilter.load(bytes),
  static: true,
});

const SEED = 17;

function idsOf(count: number): Buffer[] {
  const random = createPrng(SEED);
  return Array.from({ length: count }, () => random.bytes(20));
}

describe(`locations (seed ${SEED})`, () => {
  testProperty('are those that ids were added with, also after saving, whatever their number', (check) => {
    const sizes = fc.integer({ min: 0, max: 2000 });
    const locationBits = fc.integer({ min: 1, max: 22 });
    check(
      fc.property(sizes, locationBits, fc.nat(), (count, bits, seed) => {
        const random = createPrng(seed);
        const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01, locationBits: bits });
        const placed = Array.from({ length: count }, () => [random.bytes(20), random.int(2 ** bits)] as const);
        for (const [id, location] of placed) filter.add(id, location);
        for (const each of [filter, IndexedFilter.load(filter.save())]) {
          expect(placed.filter(([id, location]) => each.locate(id) !== location)).toEqual([]);
        }
      }),
      { numRuns: inSoak(60, 15) },
    );
  });

  it('of an id that is added again are the last', () => {
    const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01 });
    for (const location of [1, 2, 3]) for (const id of idsOf(500)) filter.add(id, location);
    expect(filter.elements).toBe(500);
    for (const id of idsOf(500)) expect(filter.locate(id)).toBe(3);
  });

  it('have as many bits as they were given', () => {
    const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01, locationBits: 3 });
    for (const location of [-1, 8, 0.5, NaN]) expect(() => filter.add(idsOf(1)[0]!, location)).toThrow(UsageError);
    expect(filter.elements).toBe(0);
  });
});

describe('size', () => {
  it.each([
    [0.5, 1],
    [0.01, 7],
    [0.001, 10],
    [1e-6, 20],
  ])('a rate of %d takes fingerprints of %d bits, and location bits up to 29', (falsePositiveRate, bits) => {
    const filter = IndexedFilter.withRate({ falsePositiveRate });
    expect([filter.fingerprintBits, filter.locationBits]).toEqual([bits, 29 - bits]);
    expect(() => IndexedFilter.withRate({ falsePositiveRate, locationBits: 30 - bits })).toThrow(UsageError);
  });

  it('refuses rates that it cannot reach', () => {
    for (const falsePositiveRate of [0, 1, NaN, 1e-9]) {
      expect(() => IndexedFilter.withRate({ falsePositiveRate })).toThrow(UsageError);
    }
  });

  it.each([1000, 20_000, ...inSoak([200_000], [])])(
    'is at most 32 bits for each of %d keys, and 2.61 without slots',
    (count) => {
      for (const locationBits of [22, 0]) {
        const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01, locationBits });
        for (const id of idsOf(count)) filter.add(id);
        const bitsEach = (filter.memoryBytes * 8) / count;
        expect(bitsEach).toBeLessThanOrEqual(32);
        expect(Math.abs(bitsEach - (7 + locationBits + 2.61))).toBeLessThan(count === 1000 ? 0.15 : 0.03);
      }
    },
  );

  it('is at most 2^-f wrong, and 2^-f if its graph has no free vertex', () => {
    const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01 });
    for (const id of idsOf(20_000)) filter.add(id);
    expect(filter.falsePositiveRate() / 2 ** -7).toBeGreaterThan(0.75);
    expect(filter.falsePositiveRate() / 2 ** -7).toBeLessThan(0.85);
  });
});

it('is built by the first query, and then refuses ids with a typed error', () => {
  const queries: ((filter: IndexedFilter) => unknown)[] = [
    (filter) => filter.has(idsOf(1)[0]!),
    (filter) => filter.memoryBytes,
    (filter) => filter.falsePositiveRate(),
    (filter) => filter.save(),
  ];
  for (const query of queries) {
    const filter = IndexedFilter.withRate({ falsePositiveRate: 0.01 });
    for (const id of idsOf(10)) filter.add(id);
    expect(filter.elements).toBe(10);
    query(filter);
    expect(() => filter.add(idsOf(11)[10]!)).toThrow(FilterFullError);
    expect(filter.elements).toBe(10);
    expect('delete' in filter).toBe(false);
  }
});
