import { describe, expect, it } from 'vitest';

import { ACTS, DELETE_ONLY, setStage } from '../support/crash-stage.ts';
import { PowerCutLoop } from '../support/power-cut-loop.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const LOOP_TIMEOUT_MS = 3_600_000;

/** 0: all that was not synced is lost. 1: names are kept, their bytes lost. The others: random mixtures. */
const SEEDS = [0, ...seedsOf(2, 18)];

describe('a repository is sound, with no step to mend it, when the power is cut', () => {
  it.each([...ACTS, DELETE_ONLY])(
    `after any operation of $name (seeds ${SEEDS.join(', ')})`,
    async (act) => {
      const loop = new PowerCutLoop({ stage: await setStage(memoryDirectory(), act), act });
      const { failures, firedCount } = await loop.run(SEEDS);
      expect(failures).toEqual([]);
      expect(firedCount).toBeGreaterThan(inSoak(20, 3));
    },
    LOOP_TIMEOUT_MS,
  );
});
