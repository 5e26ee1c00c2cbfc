import { describe, expect, it } from 'vitest';
import { DibfFilter } from '../../../src/filters/family/dibf.ts';
import { LdmSet } from '../../../src/filters/family/ldm-set.ts';
import { createPrng } from '../../support/prng.ts';

const RUNS = 100;
const SEED = 5;

/** The mean of the longest chain of full filters, and its standard error. */
function meanLongest(make: () => DibfFilter | LdmSet, elements: number): { mean: number; error: number } {
  const random = createPrng(SEED);
  const longest = Array.from({ length: RUNS }, () => {
    const filter = make();
    for (let count = 0; count < elements; count++) filter.add(random.bytes(20));
    return filter.longestChain();
  });
  const mean = longest.reduce((sum, length) => sum + length, 0) / RUNS;
  const variance = longest.reduce((sum, length) => sum + (length - mean) ** 2, 0) / (RUNS - 1);
  return { mean, error: Math.sqrt(variance / RUNS) };
}

/** The mean of the longest of n chains over `cells` cells: sum over l of P(longest >= l), cells taken as independent. */
function theoreticalLongest(elements: number, cells: number): number {
  const load = elements / cells;
  let mean = 0;
  let atMost = Math.exp(-load);
  let term = atMost;
  for (let length = 1; length < 40; length++) {
    mean += 1 - atMost ** cells;
    term *= load / length;
    atMost += term;
  }
  return mean;
}

describe.each([
  { elements: 640, side: 26, positions: 6469 },
  { elements: 1600, side: 40, positions: 16_183 },
])(`the longest chain at n_max = $elements, mean of ${RUNS} runs (seed ${SEED})`, ({ elements, side, positions }) => {
  it('of the DIBF is what theory says', () => {
    const options = { capacity: elements, falsePositiveRate: 0.01 };
    expect(DibfFilter.forCapacity(options).side).toBe(side);
    const { mean, error } = meanLongest(() => DibfFilter.forCapacity(options), elements);
    expect(Math.abs(mean - theoreticalLongest(elements, side * side))).toBeLessThan(0.05 + 5 * error);
  });

  it('of the LDM filter is what theory says', () => {
    const options = { capacity: elements, falsePositiveRate: 0.0079, hashes: 7 };
    expect(LdmSet.forCapacity(options).plan.positions).toBe(positions);
    const { mean, error } = meanLongest(() => LdmSet.forCapacity(options), elements);
    expect(Math.abs(mean - theoreticalLongest(elements, positions))).toBeLessThan(0.05 + 5 * error);
  });
});
