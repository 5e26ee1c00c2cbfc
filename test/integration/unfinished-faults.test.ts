import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { describeTree } from '../support/compare-trees.ts';
import { FIRST_BACKUP, setStage } from '../support/crash-stage.ts';
import type { Act, Stage } from '../support/crash-stage.ts';
import type { LoopOptions } from '../support/fault-steps.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { InterruptionLoop } from '../support/interruption.ts';
import { PowerCutLoop } from '../support/power-cut-loop.ts';
import { createPrng } from '../support/prng.ts';
import { seedsOf } from '../support/seeds.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const LOOP_TIMEOUT_MS = 3_600_000;
/** Of power cuts; see `PowerCutBackend`. */
const SEEDS = [0, ...seedsOf(1, 18)];
const RECORD_EVERY_MS = 1000;
/** What precedes the record is in every backup. */
const WHERE: LoopOptions = inSoak({}, { startsAt: / -> unfinished\// });

/** A backup that records what it has stored after certain files: it is time then. */
async function recordAfter(context: OperationContext, stage: Stage, names: readonly string[]): Promise<unknown> {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    return await backup(context, {
      sources: [stage.work],
      cwd: '/',
      hostname: 'stage',
      recordEveryMs: RECORD_EVERY_MS,
      onEntry: ({ path }) => {
        if (names.some((name) => path.endsWith(`/${name}`))) nowMs += RECORD_EVERY_MS;
      },
    });
  } finally {
    clock.mockRestore();
  }
}

/** Goes on after a killed backup that left a record, replaces that, commits, and removes its own. */
const RECORDING_BACKUP: Act = {
  ...FIRST_BACKUP,
  name: 'recording backup',
  run: async (context, stage) => recordAfter(context, stage, ['c']),
};

async function setRecordStage(): Promise<Stage> {
  const directory = memoryDirectory();
  const stage = await setStage(join(directory, 'unused'), FIRST_BACKUP);
  const work = join(directory, 'work');
  mkdirSync(work);
  for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
    writeFileSync(join(work, name), createPrng(index).bytes(1000));
  }
  const recorded = { ...stage, work, workTree: describeTree(work) };
  const isCommit = (operation: string, name: string): boolean =>
    operation === 'rename' && name.includes(' -> snapshots/');
  const dying = new FaultyBackend(stage.backend, { mode: 'crash', failAt: 1, only: isCommit });
  await expect(recordAfter(simulatedProcess(dying), recorded, ['a'])).rejects.toThrow('simulated crash');
  dying.assertFired();
  const leavings = stage.backend.names().filter((name) => /^(tmp|locks)\//.test(name));
  for (const name of leavings) await stage.backend.remove(name);
  expect(recordsIn(recorded)).toHaveLength(1);
  return recorded;
}

function recordsIn({ backend }: Stage): string[] {
  return backend.names().filter((name) => name.startsWith('unfinished/'));
}

describe('a backup that writes, replaces and removes records of what it has stored', () => {
  it('does that', async () => {
    const stage = await setRecordStage();
    const log = new FaultyBackend(stage.backend);
    await RECORDING_BACKUP.run(simulatedProcess(log), stage);
    const changes = log.operations.filter(
      ({ operation, name }) => /^(rename|unlink|remove)$/.test(operation) && name.includes('unfinished/'),
    );
    expect(changes.map(({ operation }) => operation)).toEqual(['rename', 'remove', 'remove']);
    expect(recordsIn(stage)).toEqual([]);
  });

  it(
    'leaves a sound repository by an error or a crash at any operation',
    async () => {
      const loop = new InterruptionLoop({ stage: await setRecordStage(), act: RECORDING_BACKUP });
      const error = await loop.run({ mode: 'error' }, WHERE);
      const crash = await loop.run({ mode: 'crash', torn: true }, WHERE);
      expect({ error: error.failures, crash: crash.failures }).toEqual({ error: [], crash: [] });
      expect(Math.min(error.firedCount, crash.firedCount)).toBeGreaterThan(inSoak(20, 6));
    },
    LOOP_TIMEOUT_MS,
  );

  it(
    `leaves a sound repository by a power cut after any operation (seeds ${SEEDS.join(', ')})`,
    async () => {
      const loop = new PowerCutLoop({ stage: await setRecordStage(), act: RECORDING_BACKUP });
      const { failures, firedCount } = await loop.run(SEEDS, WHERE);
      expect(failures).toEqual([]);
      expect(firedCount).toBeGreaterThan(inSoak(20, 6));
    },
    LOOP_TIMEOUT_MS,
  );
});
