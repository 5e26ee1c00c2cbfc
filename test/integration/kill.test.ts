import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { makeEndlessHome } from '../cli/endless-backup.ts';
import { startLdm } from '../cli/start-ldm.ts';
import { examineAftermath } from '../support/aftermath.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { compileForChild } from '../support/compile-for-child.ts';
import type { CompiledProgram } from '../support/compile-for-child.ts';
import { BACKUP, COMPACT, DELETE, UNDELETE, setStage } from '../support/crash-stage.ts';
import type { Act, Stage, TreeDescription } from '../support/crash-stage.ts';
import { createPrng } from '../support/prng.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { countOperations, isKilledAt } from '../support/run-operation-child.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const KILL_TIMEOUT_MS = 300_000;

/** Where in the course of an operation it is killed: in the suite at one of them, a backup also at the last one. */
const MOMENTS = [0.05, 0.35, 0.6, 0.8, 0.97];
const LAST = 0.97;
/** After this one everything that follows is done by the commands; after the others they only check. */
const PROGRAM_MOMENT = 0.6;

let child: CompiledProgram;
beforeAll(async () => {
  child = await compileForChild(join(import.meta.dirname, '../support/operation-child.ts'));
});
afterAll(() => child.remove());

describe('after kill -9 the program finds a sound repository', () => {
  const cases: readonly (readonly [string, Act, readonly number[], (stage: Stage) => readonly string[]])[] = [
    ['backup', BACKUP, [PROGRAM_MOMENT, LAST], (stage) => [stage.work]],
    ['delete', DELETE, [LAST], (stage) => stage.snapshotIds.slice(0, 2)],
    ['compact', COMPACT, [PROGRAM_MOMENT], () => []],
    ['undelete', UNDELETE, [0.35], (stage) => stage.deletedIds],
  ];
  it.each(cases)(
    'in the middle of %s',
    async (action, act, moments, argumentsOf) => {
      const directory = memoryDirectory();
      const stage = await setStage(directory, act);
      // Packs have random names: without this, a run whose packs share a directory has fewer operations than the first.
      for (let index = 0; index < 256; index += 1) {
        stage.backend.pokeDirectory(`packs/${index.toString(16).padStart(2, '0')}`);
      }
      const given = { stage, action: [action, ...argumentsOf(stage)] };
      const operationCount = await countOperations({ ...given, repository: join(directory, 'whole') });
      expect(operationCount).toBeGreaterThan(30);
      const untouched = stage.snapshotIds.filter((id) => !act.changedIds(stage).includes(id));
      const kept = untouched.filter((id) => !stage.deletedIds.includes(id));
      for (const moment of inSoak(MOMENTS, moments)) {
        const failAt = Math.ceil(operationCount * moment);
        const repository = join(directory, `killed-at-${failAt}`);
        const isKilled = isKilledAt(failAt, child, { ...given, repository });
        expect(isKilled, `operation ${failAt} of ${operationCount}`).toBe(true);
        expect(readdirSync(join(repository, 'snapshots'))).toEqual(expect.arrayContaining(kept));
        if (moment === PROGRAM_MOMENT) await expectSound(repository, stage);
        else await expectSoundInProcess(repository, stage, kept);
      }
    },
    KILL_TIMEOUT_MS,
  );
});

describe('a signal in the middle of a backup', () => {
  // In the suite, test/console/signals.test.ts sends the others to a backup.
  const signals: readonly (readonly [NodeJS.Signals, number])[] = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ];
  it.each(inSoak(signals, signals.slice(1)))(
    '%s leaves nothing behind and exits with %d',
    async (signal, expectedCode) => {
      const home = makeEndlessHome();
      const work = join(home, 'work');
      // Before the endless file, so that a pack is begun when the signal comes.
      writeFileSync(join(work, 'bytes'), createPrng(1).bytes(5_000_000));
      const repository = join(home, 'repository');
      await expectSuccess(['-r', repository, 'init', '--no-encryption']);
      const running = startLdm(['-r', repository, 'backup', work, '--json'], { home, env: { LDM_PROGRESS_FPS: '50' } });
      for (let lines = 1; readdirSync(join(repository, 'tmp')).length === 0; lines += 1) {
        await running.stdoutMatching(new RegExp(`(?:"files_done"[^]*){${lines}}`));
      }
      running.child.kill(signal);
      expect(await running.ended).toEqual({ code: expectedCode, signal: null });
      for (const place of ['snapshots', 'tmp', 'locks']) expect(readdirSync(join(repository, place))).toEqual([]);
      rmSync(join(work, 'zeros'));
      await expectSuccess(['-r', repository, 'backup', work]);
      await expectSuccess(['-r', repository, 'check', '--read-data']);
      await expectRestored(repository, 'latest', { source: work });
    },
  );
});

/** The command finds nothing wrong, and the operations that follow work. */
async function expectSoundInProcess(repository: string, stage: Stage, kept: readonly string[]): Promise<void> {
  await expectSuccess(['-r', repository, 'check', '--read-data']);
  const backend = new LocalBackend(repository);
  expect(await examineAftermath(backend, stage, { present: kept, absent: [] })).toEqual([]);
  await backend.close();
}

/** Everything that a person does next, with no step to mend anything. */
async function expectSound(repository: string, stage: Stage): Promise<void> {
  await expectSuccess(['-r', repository, 'check', '--read-data']);
  for (const id of readdirSync(join(repository, 'snapshots'))) {
    await expectRestored(repository, id, stage.trees.get(id) ?? stage.workTree);
  }
  await expectSuccess(['-r', repository, 'backup', stage.work]);
  await expectRestored(repository, 'latest', stage.workTree);
  await expectSuccess(['-r', repository, 'compact', '--max-unused', '0']);
  await expectSuccess(['-r', repository, 'check', '--read-data']);
  for (const place of ['tmp', 'locks']) expect(readdirSync(join(repository, place))).toEqual([]);
}

async function expectRestored(
  repository: string,
  selector: string,
  tree: TreeDescription | { readonly source: string },
): Promise<void> {
  const target = memoryDirectory();
  await expectSuccess(['-q', '-r', repository, 'restore', selector, '--target', target]);
  expect(diffTrees('source' in tree ? tree.source : tree, join(target, 'work'))).toEqual([]);
}

async function expectSuccess(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runLdmHere(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
}
