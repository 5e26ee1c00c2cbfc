import { describe, expect, it } from 'vitest';
import { measureChains } from '../../../src/core/ldm/chain-statistics.ts';
import { falsePositiveRate, planFilter } from '../../../src/core/ldm/formulas.ts';
import { measureFalsePositives } from '../../../src/core/ldm/filter-statistics.ts';
import { filterWith, randomIds } from './filter-support.ts';
import { inSoak } from '../../support/soak.ts';

describe('the measured false positive rate', () => {
  const probeCount = inSoak(400_000, 150_000);

  it.each([
    { hashes: 7, load: 1 },
    { hashes: 7, load: 0.7 },
    { hashes: 4, load: 1 },
    { hashes: 1, load: 1 },
    { hashes: 10, load: 1 },
  ])('agrees with formula (1) for $hashes hashes at $load of the capacity', ({ hashes, load }) => {
    const plan = planFilter({ capacity: 100_000, hashes });
    const elements = plan.capacity * load;
    const seed = hashes * 100 + load * 10;
    const filter = filterWith(plan, randomIds(elements, seed));
    const predicted = falsePositiveRate(plan.positions, elements, hashes);
    const deviation = Math.sqrt((predicted * (1 - predicted)) / probeCount);
    const measured = measureFalsePositives(filter, probeCount, seed + 1);
    expect(Math.abs(measured - predicted) / deviation, `seed ${seed}: ${measured}, not ${predicted}`).toBeLessThan(4);
  });
});

describe('chain lengths at full load', () => {
  function meanOfLongest(elements: number, runCount: number): number {
    const plan = planFilter({ capacity: elements, hashes: 7 });
    let sum = 0;
    for (let seed = 0; seed < runCount; seed++) {
      sum += measureChains(filterWith(plan, randomIds(elements, seed))).byLink.max;
    }
    return sum / runCount;
  }

  it('are those that theory expects of the published examples: the longest is 2.65 and 2.97 in the mean', () => {
    expect(Math.abs(meanOfLongest(640, inSoak(300, 150)) - 2.65)).toBeLessThan(0.1);
    expect(Math.abs(meanOfLongest(1600, inSoak(300, 150)) - 2.97)).toBeLessThan(0.1);
  });

  it('are distributed as chunks thrown at random on m link positions', () => {
    const elements = inSoak(200_000, 60_000);
    const plan = planFilter({ capacity: elements, hashes: 7 });
    const { count, mean, max, histogram } = measureChains(filterWith(plan, randomIds(elements, 9))).byLink;
    const load = elements / plan.positions;
    let expectedCount = plan.positions * Math.exp(-load);
    for (let length = 1; length <= 4; length++) {
      // Poisson: as many positions have one chunk more as load / length says.
      expectedCount *= load / length;
      expect(Math.abs(histogram[length]! - expectedCount)).toBeLessThan(5 * Math.sqrt(expectedCount));
    }
    expect(count).toBe(histogram.reduce((sum, chains) => sum + chains));
    expect(mean).toBeCloseTo(elements / count, 12);
    expect(max).toBe(histogram.length - 1);
  });
});

describe('statistics', () => {
  it('describe the filter as it is', () => {
    const plan = planFilter({ capacity: 1600, hashes: 7 });
    const filter = filterWith(plan, randomIds(1600, 1));
    const statistics = filter.statistics();
    expect(statistics).toMatchObject({
      elements: 1600,
      positions: plan.positions,
      hashes: 7,
      counterBits: 4,
      fprPredicted: plan.fprPredicted,
      saturated: 0,
      memoryBytes: filter.memoryBytes,
      capacity: 1600,
    });
    expect(statistics.fillRatio).toBeCloseTo(0.5, 1);
    expect(statistics.fprMeasured).toBeCloseTo(plan.fprPredicted, 2);
    expect(statistics.counterMax).toBeGreaterThan(2);
    expect(statistics.chains.histogram.reduce((sum, chains, length) => sum + chains * length, 0)).toBe(1600);
  });

  it('of an empty filter are zeros', () => {
    const statistics = filterWith(planFilter(), new Uint8Array(0)).statistics();
    expect(statistics).toMatchObject({ elements: 0, fillRatio: 0, fprPredicted: 0, fprMeasured: 0, counterMax: 0 });
    const none = { count: 0, mean: 0, max: 0, histogram: [0], meanVisited: 0 };
    expect([statistics.chains, statistics.savedChains]).toEqual([none, none]);
  });
});
