import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptDataError, FilterFullError, UsageError } from '../../../src/core/errors.ts';
import { fillRandomIds } from '../../../src/core/ldm/random-ids.ts';
import { ExpandableFilter } from '../../../src/filters/family/expandable-filter.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('expandable filter', {
  make: (options) => ExpandableFilter.forCapacity(options),
  load: (bytes) => ExpandableFilter.load(bytes),
  erasable: true,
  countsTwice: true,
});

const SEED = 43;

function idsOf(count: number, seed = SEED): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

describe('growing and deleting at once', () => {
  testProperty('never loses an id through many doublings, by a model', (check) => {
    // At a rate of 0.14, the first fingerprints have 3 bits, so after three doublings they are copied.
    const setUp = fc.record({
      seed: fc.nat(),
      rate: fc.constantFrom(0.14, 0.05, 0.01),
      steps: fc.integer({ min: 1, max: 3000 }),
    });
    check(
      fc.property(setUp, ({ seed, rate, steps }) => {
        const random = createPrng(seed);
        let filter = ExpandableFilter.forCapacity({ capacity: 1, falsePositiveRate: rate });
        const live: Buffer[] = [];
        for (let step = 0; step < steps; step++) {
          const choice = random.int(8);
          if (choice < 5 || live.length === 0) live.push(random.bytes(20));
          // A copy of one that is there.
          else if (choice === 5) live.push(live[random.int(live.length)]!);
          else {
            const [gone] = live.splice(random.int(live.length), 1);
            expect(filter.delete(gone!)).toBe(true);
            continue;
          }
          filter.add(live.at(-1)!);
        }
        if (random.int(2) === 0) filter = ExpandableFilter.load(filter.save());
        expect(filter.elements).toBe(live.length);
        expect(live.filter((id) => !filter.has(id))).toEqual([]);
        for (const id of live) expect(filter.delete(id)).toBe(true);
        expect([filter.elements, filter.falsePositiveRate()]).toEqual([0, 0]);
      }),
      { numRuns: inSoak(150, 12) },
    );
  });

  it(`loses none of the others after each delete, although every id shares its fingerprint with some (seed ${SEED})`, () => {
    const filter = ExpandableFilter.forCapacity({ capacity: 4, falsePositiveRate: 0.14 });
    const ids = idsOf(700);
    for (const id of ids) filter.add(id);
    expect(filter.doublings).toBe(7);
    for (let gone = 0; gone < ids.length; gone++) {
      filter.delete(ids[gone]!);
      const left = ids.slice(gone + 1);
      expect(left.filter((id) => !filter.has(id))).toEqual([]);
      expect(filter.elements).toBe(left.length);
    }
  });
});

describe.each([0.05, 0.01])('at a rate of %d', (target) => {
  it(`the rate is as predicted, and stays below its target, however often it doubles (seed ${SEED})`, () => {
    const filter = ExpandableFilter.forCapacity({ capacity: 20, falsePositiveRate: target });
    const random = createPrng(SEED);
    const id = Buffer.alloc(20);
    const probes = 20_000;
    for (let count = 20; count <= inSoak(1_000_000, 80_000); count *= 4) {
      while (filter.elements < count) filter.add(random.bytes(20));
      const predicted = filter.falsePositiveRate();
      expect(predicted, `${count} ids`).toBeLessThanOrEqual(target);
      // It would be 2^10 times as high if fingerprints only got shorter.
      let hits = 0;
      for (let probe = 0; probe < probes; probe++) {
        fillRandomIds(id, () => random.next());
        if (filter.has(id)) hits++;
      }
      // With few slots, those of this one filter differ from the mean.
      if (count < 1000) continue;
      const sigma = Math.sqrt(probes * predicted * (1 - predicted));
      expect(Math.abs(hits - probes * predicted), `${count} ids`).toBeLessThanOrEqual(5 * sigma);
    }
    expect(filter.doublings).toBeGreaterThanOrEqual(10);
  });
});

describe('size', () => {
  it.each([
    [0.01, 0, 13.75],
    [0.01, 1, 16.25],
    [0.001, 0, 17.5],
  ])(
    'for a rate of %d after %d doublings is %d bits for each id when it is full',
    (falsePositiveRate, doublings, bits) => {
      const count = 20_000 * 2 ** doublings;
      const filter = ExpandableFilter.forCapacity({ capacity: 20_000, falsePositiveRate });
      for (const id of idsOf(count)) filter.add(id);
      expect(filter.doublings).toBe(doublings);
      expect((filter.memoryBytes * 8) / count).toBeCloseTo(bits, 1);
    },
  );

  it('refuses what it cannot have', () => {
    for (const [capacity, falsePositiveRate] of [
      [0, 0.01],
      [3e8, 0.01],
      [10, 0],
      [10, 1],
      [10, 7e-6],
    ] as const) {
      expect(() => ExpandableFilter.forCapacity({ capacity, falsePositiveRate })).toThrow(UsageError);
    }
  });
});

describe('one id again and again', () => {
  it('is in 200 times at most, and can be deleted as often', () => {
    const filter = ExpandableFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });
    const [id, other] = idsOf(2);
    filter.add(other!);
    for (let copy = 0; copy < 200; copy++) filter.add(id!);
    expect(() => filter.add(id!)).toThrow(FilterFullError);
    expect(filter.elements).toBe(201);
    for (let copy = 0; copy < 200; copy++) expect(filter.delete(id!)).toBe(true);
    expect([filter.has(id!), filter.has(other!), filter.elements]).toEqual([false, true, 1]);
  });
});

describe(`saved slots that do not fit together (seed ${SEED})`, () => {
  it('are refused, or answer without end neither in a look-up nor in a change', () => {
    const filter = ExpandableFilter.forCapacity({ capacity: 12, falsePositiveRate: 0.05 });
    for (const id of idsOf(12)) filter.add(id);
    const { numbers, arrays } = decodeSaved('expandable', filter.save());
    const random = createPrng(SEED);
    let refused = 0;
    for (let round = 0; round < inSoak(20_000, 500); round++) {
      const array = Uint8Array.from(arrays[0]!);
      for (let flips = random.int(4) + 1; flips > 0; flips--)
        array[random.int(array.length - 4)]! ^= 1 << random.int(8);
      try {
        const loaded = ExpandableFilter.load(encodeSaved('expandable', numbers, [array]));
        for (const id of idsOf(30, round)) loaded.add(id);
        for (const id of idsOf(30, round)) expect(loaded.delete(id)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptDataError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(50);
  });
});
