import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Stage } from '../support/crash-stage.ts';
import { STEP_NAMES, cutAfter, deathsOf, diskAfter, setStageOfSteps, setStageOfTag } from '../support/dead-process.ts';
import type { Death, StepName } from '../support/dead-process.ts';
import type { PowerCutBackend } from '../support/power-cut-backend.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory, removeTree } from '../support/temp-directory.ts';

// A process that dies between a rename or a removal and the fsync of the directory leaves a change that others see, and
// that a power cut may undo. What another process makes durable must not rely on it.

const SOAK_TIMEOUT_MS = 3_600_000;
const SEEDS = seedsOf(2, 4).map((seed) => seed + 1);
const FULL = 'compact a full disk';
const FIRST_STEPS: readonly StepName[] = ['backup', 'delete', 'undelete', 'tag', 'compact', 'compact manifests', FULL];

const ADDED_SEGMENT = /^added index.[0-9a-f]{64}$/;
const REMOVED_SEGMENT = /^removed index.[0-9a-f]{64}$/;

/** What a power cut would undo. */
function changesLost(disk: PowerCutBackend): string[] {
  const [now, then] = [disk.names(), disk.cut().names()];
  return [
    ...now.filter((name) => !then.includes(name)).map((name) => `added ${name}`),
    ...then.filter((name) => !now.includes(name)).map((name) => `removed ${name}`),
  ];
}

const directory = makeTemporaryDirectory();
afterAll(() => removeTree(directory));

/** Made once: each test works on copies. */
let stage: Stage;

beforeAll(async () => {
  stage = await setStageOfSteps(directory);
});

describe(`a power cut harms nothing that relies on what a dead process did not sync (seeds ${SEEDS.join(', ')})`, () => {
  // The last entry is a change that a power cut would undo after the death: the test fails if another sync comes
  // before it.
  const cases: readonly (readonly [string, Death, StepName, RegExp])[] = [
    ['the segment of a backup', { step: 'backup', directory: 'index', nth: 1 }, 'backup', ADDED_SEGMENT],
    [
      'the snapshot of a backup',
      { step: 'backup', directory: 'snapshots', nth: 1 },
      'compact manifests',
      /^added snapshots/,
    ],
    ['a changed manifest', { step: 'tag', directory: 'snapshots', nth: 1 }, 'tag', /^added snapshots/],
    [
      'the new name of a deleted snapshot',
      { step: 'delete', directory: 'deleted', nth: 1 },
      'compact',
      /^added deleted/,
    ],
    ['the end of its old name', { step: 'delete', directory: 'snapshots', nth: 1 }, 'compact', /^removed snapshots/],
    ['the segment of a compaction', { step: 'compact', directory: 'index', nth: 1 }, 'compact', ADDED_SEGMENT],
    ['the merged record of commits', { step: 'compact', directory: 'index', nth: 2 }, 'compact', /^added index.commit/],
    ['the number of that record', { step: 'compact', directory: 'index', nth: 3 }, 'compact', /^added index.commits/],
    ['the removal of records', { step: 'compact', directory: 'index', nth: 4 }, 'compact', /^removed index.commit/],
    ['the removal of segments', { step: 'compact', directory: 'index', nth: 5 }, 'compact', REMOVED_SEGMENT],
    [
      'the removal of segments, on a disk that is full',
      { step: 'compact', directory: 'index', nth: 5 },
      FULL,
      REMOVED_SEGMENT,
    ],
    [
      'the removal of checkpoints from a full disk',
      { step: FULL, directory: 'filter', nth: 1 },
      FULL,
      /^removed filter/,
    ],
    [
      'the removal of copies',
      { step: 'compact', directory: 'manifests.bak', nth: 1 },
      'compact manifests',
      /^removed manifests.bak/,
    ],
  ];
  it.each(cases)('%s', async (_what, death, second, lost) => {
    const disk = await diskAfter(stage, death);
    expect(changesLost(disk)).toContainEqual(expect.stringMatching(lost));
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
