import { expect, it } from 'vitest';

import { memoryBucket } from '../support/buckets.ts';
import { MODEL_NAMES, runGroupModel } from '../support/group-model.ts';
import { makeGrouped } from '../support/grouped-repository.ts';
import { lengthOfRun, seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';

const commandCountOf = (seed: number): number => lengthOfRun(seed, 40, 15);
const SEEDS = seedsOf(2, 50);

/** In the suite, the first fixed seed is for directories alone, and the second for a bucket. */
const [PLAIN_SEEDS, BUCKET_SEEDS] = [2, 1].map((left) => SEEDS.filter((seed) => inSoak(true, seed !== left))) as [
  number[],
  number[],
];

let deathCount = 0;

it.each(PLAIN_SEEDS)(
  'groups lose nothing in any order of commands, offline groups and deaths (seed %i)',
  async (seed) => {
    deathCount += await runGroupModel(await makeGrouped(MODEL_NAMES), seed, commandCountOf(seed));
  },
);

it.each(BUCKET_SEEDS)('neither do they if one of them is a bucket (seed %i)', async (seed) => {
  const buckets = { c: memoryBucket() };
  deathCount += await runGroupModel(await makeGrouped(MODEL_NAMES, { buckets }), seed, commandCountOf(seed));
});

// Of all seeds: in one run of fifty, no process dies with a given one.
it(`some of the processes died (seeds ${SEEDS.join(', ')})`, () => {
  expect(deathCount).toBeGreaterThan(0);
});
