import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Stage } from '../support/crash-stage.ts';
import { STEP_NAMES, cutAfter, deathsOf, diskAfter, setStageOfSteps, setStageOfTag } from '../support/dead-process.ts';
import type { Death, StepName } from '../support/dead-process.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory, removeTree } from '../support/temp-directory.ts';

// A process that dies between a rename or a removal and the fsync of the directory leaves a change that others see, and
// that a power cut may undo. What another process makes durable must not rely on it.

const SOAK_TIMEOUT_MS = 3_600_000;
const SEEDS = seedsOf(2, 4).map((seed) => seed + 1);
const FULL = 'compact a full disk';
const FIRST_STEPS: readonly StepName[] = ['backup', 'delete', 'undelete', 'tag', 'compact', 'compact manifests', FULL];

const directory = makeTemporaryDirectory();
afterAll(() => removeTree(directory));

/** Made once: each test works on copies. */
let stage: Stage;

beforeAll(async () => {
  stage = await setStageOfSteps(directory);
});

describe(`a power cut harms nothing that relies on what a dead process did not sync (seeds ${SEEDS.join(', ')})`, () => {
  const cases: readonly (readonly [string, Death, StepName])[] = [
    ['the segment of a backup', { step: 'backup', directory: 'index', nth: 1 }, 'backup'],
    ['the snapshot of a backup', { step: 'backup', directory: 'snapshots', nth: 1 }, 'compact manifests'],
    ['a changed manifest', { step: 'tag', directory: 'snapshots', nth: 1 }, 'tag'],
    ['the new name of a deleted snapshot', { step: 'delete', directory: 'deleted', nth: 1 }, 'compact'],
    ['the end of its old name', { step: 'delete', directory: 'snapshots', nth: 1 }, 'compact'],
    ['the segment of a compaction', { step: 'compact', directory: 'index', nth: 1 }, 'compact'],
    ['the removal of segments', { step: 'compact', directory: 'index', nth: 2 }, 'compact'],
    ['the removal of segments, on a disk that is full', { step: 'compact', directory: 'index', nth: 2 }, FULL],
    ['the removal of checkpoints from a full disk', { step: FULL, directory: 'filter', nth: 1 }, FULL],
    ['the removal of copies', { step: 'compact', directory: 'manifests.bak', nth: 1 }, 'compact manifests'],
  ];
  it.each(cases)('%s', async (_what, death, second) => {
    const disk = await diskAfter(stage, death);
    expect(await cutAfter(stage, { death, disk, second }, SEEDS)).toEqual([]);
  });

  it('the removal of copies where nothing is condemned', async () => {
    const tagged = await setStageOfTag(join(directory, 'tagged'));
    const death = { step: 'compact manifests', directory: 'manifests.bak', nth: 1 } as const;
    const disk = await diskAfter(tagged, death);
    expect(disk.names().filter((name) => name.startsWith('condemned/'))).toEqual([]);
    expect(await cutAfter(tagged, { death, disk, second: 'compact manifests' }, SEEDS)).toEqual([]);
  });

  it.each(inSoak(FIRST_STEPS, []))(
    'whatever %s did not sync, before every step',
    async (step) => {
      for (const death of await deathsOf(stage, step)) {
        for (const second of STEP_NAMES) {
          const disk = await diskAfter(stage, death);
          const failures = await cutAfter(stage, { death, disk, second }, SEEDS);
          expect(failures, `${JSON.stringify(death)}, then ${second}`).toEqual([]);
        }
      }
    },
    SOAK_TIMEOUT_MS,
  );
});
