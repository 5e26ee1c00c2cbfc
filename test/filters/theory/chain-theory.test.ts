import { describe, expect, it } from 'vitest';

import { expectedLongestChains, poisson } from '../../../src/filters/theory/chain-theory.ts';

/** The mean of the longest chain over all `bins` to the power of `chunks` ways to place the chunks. */
function averageOverAllPlacements(bins: number, chunks: number): number {
  const lengths = Array.from({ length: bins }, () => 0);
  let sum = 0;
  const place = (left: number): void => {
    if (left === 0) {
      sum += Math.max(...lengths);
      return;
    }
    for (let bin = 0; bin < bins; bin++) {
      lengths[bin]!++;
      place(left - 1);
      lengths[bin]!--;
    }
  };
  place(chunks);
  return sum / bins ** chunks;
}

describe('expected longest chain', () => {
  it.each([1, 2, 3, 4, 5, 6])('on %i positions is the mean over all placements', (bins) => {
    const expected = expectedLongestChains(bins, bins);
    expect(expected).toHaveLength(bins + 1);
    for (let chunks = 0; chunks <= bins; chunks++) {
      expect(expected[chunks]).toBeCloseTo(averageOverAllPlacements(bins, chunks), 10);
    }
  });

  it('is near the Poisson approximation where there are many positions', () => {
    for (const [bins, chunks] of [
      [6463, 640],
      [16_158, 1600],
      [1600, 1600],
    ] as const) {
      let approximate = 0;
      let within = 0;
      for (let limit = 0; limit < 30; limit++) {
        within += poisson(chunks / bins, limit);
        approximate += 1 - Math.min(1, within) ** bins;
      }
      const exact = expectedLongestChains(bins, chunks)[chunks]!;
      expect(Math.abs(exact - approximate)).toBeLessThan(0.02);
    }
  });

  it('does not lose its digits in a large store', () => {
    const expected = expectedLongestChains(200_000, 20_000);
    expect(expected[20_000]).toBeGreaterThan(3);
    expect(expected[20_000]).toBeLessThan(6);
    for (let chunks = 1; chunks <= 20_000; chunks++) {
      expect(expected[chunks]! - expected[chunks - 1]!).toBeGreaterThan(-1e-6);
    }
  });

  it('is not computed where the recurrence would cancel', () => {
    expect(() => expectedLongestChains(10, 11)).toThrow(RangeError);
  });
});

describe('poisson', () => {
  it.each([0, 0.1, 1, 7.5])('is a distribution with mean %d', (mean) => {
    const probabilities = Array.from({ length: 60 }, (_, count) => poisson(mean, count));
    expect(probabilities.reduce((sum, probability) => sum + probability, 0)).toBeCloseTo(1, 10);
    expect(probabilities.reduce((sum, probability, count) => sum + count * probability, 0)).toBeCloseTo(mean, 10);
  });
});
