import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/core/errors.ts';
import {
  falsePositiveRate,
  growPlan,
  linkPosition,
  MAX_CAPACITY,
  optimalHashes,
  planFilter,
  positionsFor,
  positionsForRate,
  predictedRate,
  type FilterPlan,
} from '../../../src/core/ldm/formulas.ts';
import { isPrime } from '../../../src/core/ldm/positions.ts';

describe('the published worked examples', () => {
  it('formula (1): 640 chunks, 6463 positions and 7 hashes give 0.0078', () => {
    expect(falsePositiveRate(6463, 640, 7).toFixed(4)).toBe('0.0078');
  });

  it.each([
    { capacityGb: 40, elements: 640, positions: 6463 },
    { capacityGb: 100, elements: 1600, positions: 16_158 },
  ])(
    'formula (2): $capacityGb GB in chunks of 64 MB need $positions positions',
    ({ capacityGb, elements, positions }) => {
      expect((capacityGb * 1024) / 64).toBe(elements);
      expect(positionsFor(elements, 7)).toBe(positions);
      expect(optimalHashes(positions, elements)).toBe(7);
    },
  );

  it('formula (3): the values 6069, 36, 5 and 642 link at 289', () => {
    expect(linkPosition([6069, 36, 5, 642], 6463)).toBe(289);
  });
});

describe('falsePositiveRate', () => {
  it('agrees with the formula as it is written, where that is still accurate', () => {
    for (const [positions, elements, hashes] of [
      [6463, 640, 7],
      [97, 10, 3],
      [1009, 5000, 4],
    ] as const) {
      const direct = (1 - (1 - 1 / positions) ** (hashes * elements)) ** hashes;
      expect(falsePositiveRate(positions, elements, hashes)).toBeCloseTo(direct, 10);
    }
  });

  it('keeps its digits where the formula as written loses them', () => {
    // One chunk in 2^31 - 1 positions with one hash: 1/m exactly.
    const positions = 2 ** 31 - 1;
    expect(falsePositiveRate(positions, 1, 1) * positions).toBeCloseTo(1, 12);
  });

  it('is 0 for an empty filter', () => {
    expect(falsePositiveRate(1, 0, 1)).toBe(0);
    expect(falsePositiveRate(6463, 0, 7)).toBe(0);
  });
});

describe('positionsForRate', () => {
  it('is the fewest positions that reach the rate', () => {
    for (const [elements, hashes, rate] of [
      [640, 7, 0.0078],
      [65_536, 7, 0.01],
      [1e6, 13, 1e-4],
      [1, 1, 0.4],
    ] as const) {
      const positions = positionsForRate(elements, hashes, rate);
      expect(falsePositiveRate(positions, elements, hashes)).toBeLessThanOrEqual(rate);
      expect(falsePositiveRate(positions - 1, elements, hashes)).toBeGreaterThan(rate);
    }
  });
});

describe('planFilter', () => {
  function expectSound(plan: FilterPlan): void {
    expect(isPrime(plan.positions)).toBe(true);
    expect(plan.positions).toBeGreaterThanOrEqual(positionsFor(plan.capacity, plan.hashes));
    expect(plan.positions).toBeGreaterThan(plan.hashes);
    expect(plan.fprPredicted).toBe(predictedRate(plan.positions, plan.capacity, plan.hashes));
    expect(plan.fprPredicted).toBeLessThanOrEqual(plan.fprTarget);
  }

  it('chooses 65536 chunks and 7 hashes when nothing is said', () => {
    const plan = planFilter();
    expect(plan).toMatchObject({ capacity: 65_536, hashes: 7, fprTarget: 0.01 });
    expectSound(plan);
  });

  it('makes the published plan, with the next prime', () => {
    const plan = planFilter({ capacity: 640, hashes: 7 });
    expect(plan.positions).toBe(6469);
    expect(falsePositiveRate(plan.positions, 640, 7).toFixed(4)).toBe('0.0078');
    // Double hashing adds a hundredth to formula (1) here. Nobody asked for a rate, so the target is the prediction.
    expect(plan.fprTarget).toBe(plan.fprPredicted);
    expect(plan.fprPredicted.toFixed(4)).toBe('0.0079');
  });

  it('takes more positions where double hashing would exceed the rate that was asked for', () => {
    const rate = 2 ** -7;
    const plan = planFilter({ capacity: 640, hashes: 7, fpr: rate });
    expectSound(plan);
    expect(plan.fprTarget).toBe(rate);
    expect(plan.positions).toBeGreaterThan(6469);
    expect(plan.positions).toBeLessThan(6469 * 1.01);
    // The lowest rate of all: 65,536 chunks need eight times the positions of formula (2).
    const lowest = planFilter({ capacity: 65_536, fpr: 2 ** -32 });
    expectSound(lowest);
    expect(lowest.positions / positionsFor(65_536, 32)).toBeCloseTo(8, 0);
  });

  it('is made again from its own hashes and target, which is all that a repository keeps of it', () => {
    for (const capacity of [1, 7, 100, 640, 641, 642, 643, 1600, 16_384]) {
      for (const hashes of [1, 2, 3, 7, 12]) {
        const plan = planFilter({ capacity, hashes });
        expect(planFilter({ capacity, hashes, fpr: plan.fprTarget })).toEqual(plan);
      }
    }
  });

  it('takes the fewest hashes that reach a rate', () => {
    expect([0.5, 0.1, 0.01, 0.001, 1e-6].map((fpr) => planFilter({ fpr }).hashes)).toEqual([1, 4, 7, 10, 20]);
  });

  it('takes a rate that was rounded down as what it was rounded from, and still keeps it', () => {
    const plan = planFilter({ capacity: 640, fpr: 0.0078 });
    expect(plan.hashes).toBe(7);
    expectSound(plan);
  });

  it('is sound for every number of hashes and any capacity', () => {
    for (let hashes = 1; hashes <= 32; hashes++) {
      for (const capacity of [1, 2, 3, 10, 640, 1600, 65_536, 1_000_003, 40_000_000]) {
        expectSound(planFilter({ capacity, hashes }));
      }
    }
  });

  it('accepts hashes and a rate that agree', () => {
    expect(planFilter({ hashes: 8, fpr: 0.01 })).toMatchObject({ hashes: 8, fprTarget: 0.01 });
  });

  it('refuses hashes that do not reach the rate, and says what would', () => {
    const contradiction = (): FilterPlan => planFilter({ hashes: 7, fpr: 0.001 });
    expect(contradiction).toThrow(UsageError);
    expect(contradiction).toThrow('7 hashes give a false positive rate of 0.0078, not 0.001');
    expect(contradiction).toThrow(expect.objectContaining({ hint: expect.stringContaining('Use 10 hashes') }));
  });

  it.each([
    { capacity: 0 },
    { capacity: 1.5 },
    { capacity: Number.NaN },
    { capacity: MAX_CAPACITY + 1 },
    { hashes: 0 },
    { hashes: 33 },
    { fpr: 0 },
    { fpr: 1 },
    { fpr: -0.1 },
    { fpr: Number.NaN },
    { fpr: 1e-12 },
    { capacity: MAX_CAPACITY, hashes: 32 },
  ])('refuses %o as wrong usage', (options) => {
    expect(() => planFilter(options)).toThrow(UsageError);
  });
});

describe('growPlan', () => {
  it('keeps hashes and target while the capacity grows', () => {
    let plan = planFilter({ capacity: 1, hashes: 7 });
    const { hashes, fprTarget } = plan;
    while (plan.capacity < 10_000_000) {
      plan = growPlan(plan, plan.capacity * 2);
      expect(plan).toMatchObject({ hashes, fprTarget });
      expect(plan.fprPredicted).toBeLessThanOrEqual(fprTarget);
    }
  });

  it('stops at the largest possible filter with an error that says so', () => {
    const largest = growPlan(planFilter({ hashes: 32 }), MAX_CAPACITY);
    expect(largest.capacity).toBeGreaterThan(40_000_000);
    expect(() => growPlan(largest, MAX_CAPACITY)).toThrow('cannot hold more than');
  });
});
