import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { LdmFilter, NO_PACK } from '../../../src/core/ldm/ldm-filter.ts';
import { ID_BYTES } from '../../../src/core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../../src/core/ldm/random-ids.ts';
import { capacityFor, walkPlan } from '../../../src/filters/plan/plan.ts';
import { testProperty } from '../../support/property.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

describe('plan', () => {
  it.each([
    [40, 640, 6463],
    [100, 1600, 16_158],
  ])('gives the published example of %i GB', (storeGib, elements, positions) => {
    const capacity = capacityFor(storeGib * GIB, 64 * MIB);
    expect(capacity).toBe(elements);
    for (const request of [{ hashes: 7 }, { fpr: 0.01 }, { fpr: 0.0078 }, { hashes: 5, fpr: 0.01 }]) {
      const { accepted } = walkPlan({ capacity, ...request });
      expect(accepted).toMatchObject({ hashes: 7, positions });
      expect(accepted.fpr.toPrecision(2)).toBe('0.0078');
    }
  });

  testProperty(
    'accepts the first number of hashes that reaches the rate, and what it accepts is what init would take',
    (check) => {
      const requests = fc.record({
        capacity: fc.integer({ min: 50, max: 1_000_000 }),
        hashes: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
        fpr: fc.double({ min: 0.0005, max: 0.9, noNaN: true }),
      });
      check(
        fc.property(requests, (request) => {
          const { accepted, choices, fprTarget } = walkPlan(request);
          expect(fprTarget).toBe(request.fpr);
          expect(accepted.plan.fprPredicted).toBeLessThanOrEqual(request.fpr);
          expect(accepted.plan).toEqual(planFilter({ ...request, hashes: accepted.hashes }));
          const rejected = choices.filter(({ verdict }) => verdict === 'rejected');
          expect(rejected).toHaveLength(accepted.hashes - (request.hashes ?? 1));
          // A rate that was typed with two digits may be missed by a hundredth of it.
          for (const { hashes } of rejected) expect(2 ** -hashes).toBeGreaterThan(request.fpr);
          expect(choices.map(({ hashes }) => hashes)).toEqual(
            choices.map((_choice, index) => choices[0]!.hashes + index),
          );
        }),
        { numRuns: 50 },
      );
    },
  );

  it('says how much memory the filter takes when it is full', () => {
    const { accepted } = walkPlan({ capacity: 16_384, hashes: 7 });
    const filter = new LdmFilter(accepted.plan);
    const nextWord = randomWords(3);
    const id = new Uint8Array(ID_BYTES);
    const location = { packIndex: NO_PACK, blockOffset: 0, offsetInBlock: 0, lengthBytes: 1, storedBytes: 1 };
    for (let index = 0; index < 16_384; index++) {
      fillRandomIds(id, nextWord);
      filter.retain(filter.insert(id, 0, location));
    }
    const extraBytes = filter.memoryBytes - accepted.counterBytes - accepted.chainBytes;
    // The heads of the dead chunks.
    expect(extraBytes).toBeGreaterThanOrEqual(0);
    expect(extraBytes).toBeLessThanOrEqual(8192);
  });

  it('ends at the largest filter that is possible', () => {
    const { accepted, choices } = walkPlan({ capacity: 2 ** 27, fpr: 0.01 });
    expect(accepted.hashes).toBe(7);
    expect(choices.at(-1)!.plan.positions).toBeLessThan(2 ** 31);
    expect(walkPlan({ capacity: 100, hashes: 32 }).choices.at(-1)!.verdict).toBe('accepted');
  });

  it.each([
    [{ capacity: 0 }],
    [{ capacity: 2 ** 28 }],
    [{ capacity: 640, hashes: 33 }],
    [{ capacity: 640, hashes: 40, fpr: 0.01 }],
    [{ capacity: 640, fpr: 1 }],
    [{ capacity: 2 ** 27, hashes: 12 }],
  ])('refuses %j', (request) => {
    expect(() => walkPlan(request)).toThrow(UsageError);
  });

  it('refuses a chunk that is larger than the store', () => {
    expect(() => capacityFor(MIB, GIB)).toThrow(UsageError);
    expect(capacityFor(GIB, GIB - 1)).toBe(2);
  });
});
