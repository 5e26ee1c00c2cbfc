import { expect, it } from 'vitest';

import { memoryBucket } from '../support/buckets.ts';
import { MODEL_NAMES, runGroupModel } from '../support/group-model.ts';
import { makeGrouped } from '../support/grouped-repository.ts';
import { inSoak, seedsFrom } from '../support/soak.ts';

const COMMAND_COUNT = inSoak(40, 25);
const seedGiven = process.env['LDM_TEST_SEED'];
const seeds =
  seedGiven === undefined ? [...seedsFrom(1, inSoak(50, 2)), Date.now() % 2 ** 32] : seedGiven.split(',').map(Number);

let deathCount = 0;

it.each(seeds)('groups lose nothing in any order of commands, offline groups and deaths (seed %i)', async (seed) => {
  deathCount += await runGroupModel(await makeGrouped(MODEL_NAMES), seed, COMMAND_COUNT);
});

it.each(seeds)('neither do they if one of them is a bucket (seed %i)', async (seed) => {
  const buckets = { c: memoryBucket() };
  deathCount += await runGroupModel(await makeGrouped(MODEL_NAMES, { buckets }), seed, COMMAND_COUNT);
});

// Of all seeds: in one run of fifty, no process dies with a given one.
it('some of the processes died', () => {
  expect(deathCount).toBeGreaterThan(0);
});
