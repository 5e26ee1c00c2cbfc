import { it } from 'vitest';

import { memoryBucket } from '../support/buckets.ts';
import { MODEL_NAMES, runGroupModel } from '../support/group-model.ts';
import { makeGrouped } from '../support/grouped-repository.ts';
import { inSoak, seedsFrom } from '../support/soak.ts';

const COMMAND_COUNT = 40;
const seedGiven = process.env['LDM_TEST_SEED'];
const seeds =
  seedGiven === undefined ? [...seedsFrom(1, inSoak(50, 2)), Date.now() % 2 ** 32] : seedGiven.split(',').map(Number);

it.each(seeds)('groups lose nothing in any order of commands, offline groups and deaths (seed %i)', async (seed) => {
  await runGroupModel(await makeGrouped(MODEL_NAMES), seed, COMMAND_COUNT);
});

it.each(seeds)('neither do they if one of them is a bucket (seed %i)', async (seed) => {
  const buckets = { c: memoryBucket() };
  await runGroupModel(await makeGrouped(MODEL_NAMES, undefined, { buckets }), seed, COMMAND_COUNT);
});
