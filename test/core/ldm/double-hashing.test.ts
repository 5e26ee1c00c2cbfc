import { describe, expect, it } from 'vitest';
import { falsePositiveRate, planFilter, predictedRate } from '../../../src/core/ldm/formulas.ts';
import type { LdmFilter } from '../../../src/core/ldm/ldm-filter.ts';
import { writeIdWords } from '../../../src/core/ldm/positions.ts';
import { ID_BYTES, filterWith, randomIds } from './filter-support.ts';

/** The words of an id from which `startOf` or `strideOf` make the fraction, which has 52 bits. */
function putFraction(words: Uint32Array, at: number, fraction: number): void {
  const bits = Math.floor(fraction * 2 ** 52);
  words[at] = Math.floor(bits / 2 ** 20);
  words[at + 1] = (bits % 2 ** 20) * 2 ** 12;
}

/** The false positive rate of a filter without any chance: every start with every stride is asked for. */
function exactRate(filter: LdmFilter): number {
  const { positions } = filter.plan;
  const words = new Uint32Array(5);
  const id = new Uint8Array(ID_BYTES);
  let positives = 0;
  for (let stride = 1; stride < positions; stride++) {
    putFraction(words, 2, (stride - 0.5) / (positions - 1));
    for (let start = 0; start < positions; start++) {
      putFraction(words, 0, (start + 0.5) / positions);
      writeIdWords(words, 0, id, 0);
      if (filter.mayBeLive(id, 0)) positives++;
    }
  }
  return positives / (positions * (positions - 1));
}

describe('the predicted false positive rate', () => {
  const seed = 22;

  it.each([
    { hashes: 7, elements: 1 },
    { hashes: 7, elements: 3 },
    { hashes: 7, elements: 12 },
    { hashes: 7, elements: 30 },
    { hashes: 7, elements: 60 },
    { hashes: 4, elements: 6 },
    { hashes: 10, elements: 6 },
    { hashes: 3, elements: 60 },
    { hashes: 2, elements: 60 },
    { hashes: 1, elements: 60 },
  ])('is that of all starts and strides, for $hashes hashes and $elements chunks', ({ hashes, elements }) => {
    const plan = planFilter({ capacity: 60, hashes });
    const filter = filterWith(plan, randomIds(elements, seed));
    const exact = exactRate(filter);
    const predicted = predictedRate(plan.positions, elements, hashes);
    expect(Math.abs(exact / predicted - 1), `seed ${seed}: ${exact}, not ${predicted}`).toBeLessThan(0.15);
    expect(filter.statistics().fprPredicted).toBe(predicted);
  });

  it('is 2 n / m^2 in a filter that is nearly empty, where formula (1) is thousands of times lower', () => {
    expect(predictedRate(6469, 42, 7)).toBeCloseTo(2.2e-6, 7);
    expect(falsePositiveRate(6469, 42, 7)).toBeLessThan(4e-10);
  });

  it('is nearly that of formula (1) in a filter that is full', () => {
    const { positions, capacity, hashes, fprPredicted } = planFilter();
    expect(fprPredicted / falsePositiveRate(positions, capacity, hashes) - 1).toBeLessThan(2e-4);
  });
});
