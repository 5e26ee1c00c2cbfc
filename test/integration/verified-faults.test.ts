import { describe, expect, it } from 'vitest';

import { check } from '../../src/verbs/check/check.ts';
import { BACKUP, setStage } from '../support/crash-stage.ts';
import type { Act, Stage } from '../support/crash-stage.ts';
import type { LoopOptions } from '../support/fault-steps.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { InterruptionLoop } from '../support/interruption.ts';
import { PowerCutLoop } from '../support/power-cut-loop.ts';
import { seedsOf } from '../support/seeds.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const LOOP_TIMEOUT_MS = 3_600_000;
/** Of power cuts; see `PowerCutBackend`. */
const SEEDS = [0, ...seedsOf(1, 18)];
/** What precedes the last record of a step is in every check. */
const WHERE: LoopOptions = inSoak({}, { startsAt: / -> verified\// });
const AGE_MS = 30 * 86_400_000;

/** Packs are verified again, recorded in steps, and one record takes the place of all. */
const AGED_CHECK: Act = {
  ...BACKUP,
  name: 'check with an age',
  run: async (context) => check(context, { maxAgeMs: AGE_MS, recordEveryBytes: 1 }),
};

/** An earlier check has left a record that has expired. */
async function setCheckedStage(): Promise<Stage> {
  const stage = await setStage(memoryDirectory(), AGED_CHECK);
  await check(simulatedProcess(stage.backend), { maxAgeMs: AGE_MS, now: () => Date.now() - 2 * AGE_MS });
  return stage;
}

describe('a check that records what it has verified', () => {
  it('adds records, and then replaces all of them', async () => {
    const stage = await setCheckedStage();
    const log = new FaultyBackend(stage.backend);
    await AGED_CHECK.run(simulatedProcess(log), stage);
    const changes = log.operations
      .filter(({ operation, name }) => /^(rename|unlink|remove)$/.test(operation) && name.includes('verified/'))
      .map(({ operation }) => operation);
    const renameCount = changes.filter((operation) => operation === 'rename').length;
    expect(renameCount).toBeGreaterThan(2);
    expect(changes.slice(0, renameCount).every((operation) => operation === 'rename')).toBe(true);
    expect(stage.backend.names().filter((name) => name.startsWith('verified/'))).toHaveLength(1);
  });

  it(
    'leaves a sound repository by an error or a crash at any operation',
    async () => {
      const loop = new InterruptionLoop({ stage: await setCheckedStage(), act: AGED_CHECK });
      const error = await loop.run({ mode: 'error' }, WHERE);
      const crash = await loop.run({ mode: 'crash', torn: true }, WHERE);
      expect({ error: error.failures, crash: crash.failures }).toEqual({ error: [], crash: [] });
      expect(Math.min(error.firedCount, crash.firedCount)).toBeGreaterThan(inSoak(20, 3));
    },
    LOOP_TIMEOUT_MS,
  );

  it(
    `leaves a sound repository by a power cut after any operation (seeds ${SEEDS.join(', ')})`,
    async () => {
      const loop = new PowerCutLoop({ stage: await setCheckedStage(), act: AGED_CHECK });
      const { failures, firedCount } = await loop.run(SEEDS, WHERE);
      expect(failures).toEqual([]);
      expect(firedCount).toBeGreaterThan(inSoak(20, 2));
    },
    LOOP_TIMEOUT_MS,
  );
});
