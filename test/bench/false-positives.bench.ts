import { measureFalsePositives } from '../../src/core/ldm/filter-statistics.ts';
import { falsePositiveRate, planFilter, predictedRate } from '../../src/core/ldm/formulas.ts';
import { LdmFilter } from '../../src/core/ldm/ldm-filter.ts';
import { fillRandomIds, randomWords } from '../../src/core/ldm/random-ids.ts';

/** The false positive rate of one filter, by formula (1), as predicted and as measured. */
export interface FalsePositiveBenchResult {
  readonly formula1: number;
  readonly predicted: number;
  readonly measured: number;
  /** How far the measured rate is from the predicted one, in standard errors of the probes. */
  readonly deviations: number;
}

/** The first published plan: m = 6463, here 6469. A small m makes the effect of double hashing large. */
const PLAN = planFilter({ capacity: 640, hashes: 7 });
const LOCATION = { packIndex: 1, blockOffset: 0, offsetInBlock: 0, lengthBytes: 1, storedBytes: 1 };
const SEED = 22;

/** Asks a filter of `elements` chunks for `probeCount` absent ids. */
export function runFalsePositiveBench(elements: number, probeCount: number): FalsePositiveBenchResult {
  const filter = new LdmFilter(PLAN);
  const nextWord = randomWords(SEED);
  const id = new Uint8Array(20);
  for (let chunk = 0; chunk < elements; chunk++) {
    fillRandomIds(id, nextWord);
    filter.retain(filter.insert(id, 0, LOCATION));
  }
  const { positions, hashes } = filter.plan;
  const predicted = predictedRate(positions, elements, hashes);
  const measured = measureFalsePositives(filter, probeCount, SEED + elements);
  const standardError = Math.sqrt((predicted * (1 - predicted)) / probeCount);
  return {
    formula1: falsePositiveRate(positions, elements, hashes),
    predicted,
    measured,
    deviations: (measured - predicted) / standardError,
  };
}
