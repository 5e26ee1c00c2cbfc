import { randomInt } from 'node:crypto';

import { expect } from 'vitest';

import { RANDOM_SEEDS_MIN, keyOfTestFile, readKeptSeeds } from './kept-seeds.ts';
import { inSoak } from './soak.ts';

// The seeds of random tests. In the suite they are the same in each run, so that a failure is repeated and never lost:
// 1, 2, 3 and so on, and those that failed in a soak. The soak draws others besides. Each test has its seed in its name,
// as `(seed 1)`, or `(seeds 1 to 60)` if it runs many; such a test must say `seed 17` in its error. `LDM_TEST_SEED=17`
// runs that seed only, and `LDM_TEST_SEED=17,18` two.

const given = process.env['LDM_TEST_SEED']?.split(',').map(Number);
const SEED_LIMIT = 2 ** 31;

function keptSeeds(): readonly number[] {
  return readKeptSeeds()[keyOfTestFile(expect.getState().testPath!)] ?? [];
}

/** For the test file that is being loaded: `suiteCount` fixed seeds, those that are kept, and in the soak random ones. */
export function seedsOf(suiteCount: number, soakCount: number): readonly number[] {
  if (given !== undefined) return given;
  const fixed = Array.from({ length: suiteCount }, (_, index) => 1 + index);
  const drawn = Array.from({ length: inSoak(soakCount, 0) }, () => randomInt(RANDOM_SEEDS_MIN, SEED_LIMIT));
  return [...new Set([...fixed, ...keptSeeds(), ...drawn])];
}

/** How long the run of a seed is. One that failed in the soak is as long in the suite. */
export function lengthOfRun(seed: number, soakLength: number, suiteLength: number): number {
  return seed >= RANDOM_SEEDS_MIN ? soakLength : inSoak(soakLength, suiteLength);
}

/** Many seeds, for a test that runs all of them. */
export interface SeedRange {
  readonly first: number;
  readonly count: number;
  /** Seeds outside of the range. */
  readonly others: readonly number[];
  /** For the name of the test. */
  readonly name: string;
}

export function fixedRange(count: number, first = 1, others: readonly number[] = []): SeedRange {
  const name = `(seeds ${[`${first} to ${first + count - 1}`, ...others].join(', ')})`;
  return { first, count, others, name };
}

/**
 * From 1 on and those that are kept; in the soak from a random seed on. `LDM_TEST_SEED` is where it begins instead. Each
 * part of a soak (`LDM_SOAK_PARTS`) takes its share.
 */
export function seedRange(wholeCount: number): SeedRange {
  const count = Math.ceil(wholeCount / Number(process.env['LDM_SOAK_PARTS'] ?? 1));
  const first = given?.[0] ?? inSoak(randomInt(RANDOM_SEEDS_MIN, SEED_LIMIT - count), 1);
  const others = given === undefined ? keptSeeds().filter((seed) => seed < first || seed >= first + count) : [];
  return fixedRange(count, first, others);
}

/** All seeds of a range, and then those behind it, up to `times` as many, until it is enough. */
export function* seedsIn(
  { first, count, others }: SeedRange,
  times = 1,
  isEnough: () => boolean = () => true,
): Generator<number> {
  yield* others;
  for (let seed = first; seed < first + count * times; seed += 1) {
    if (seed >= first + count && isEnough()) return;
    yield seed;
  }
}
