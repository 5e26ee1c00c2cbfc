import { spawnSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { check } from '../../src/verbs/check/check.ts';
import { encodeLockName } from '../../src/core/repository/locks/lock-name.ts';
import { currentLockOwner } from '../../src/core/repository/locks/lock-owner.ts';
import { examineAftermath, restoreOne } from '../support/aftermath.ts';
import { describeTree } from '../support/compare-trees.ts';
import { compileForChild } from '../support/compile-for-child.ts';
import type { CompiledProgram } from '../support/compile-for-child.ts';
import { COMPACT, setStage } from '../support/crash-stage.ts';
import { makeProcessScenario } from '../support/process-scenario.ts';
import type { ProcessScenario } from '../support/process-scenario.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { countOperations, isKilledAt } from '../support/run-operation-child.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** A dozen processes, one after the other. */
const SLOW = { timeout: 300_000 };

const COMMANDS = [
  ['compact'],
  ['repair'],
  ['backup', 'small'],
  ['check', '--read-data'],
  ['stats'],
  ['delete', 'latest'],
];

let child: CompiledProgram;
beforeAll(async () => {
  child = await compileForChild(join(import.meta.dirname, '../support/operation-child.ts'));
});
afterAll(() => child.remove());

describe('a lock left by kill -9', () => {
  it(`of a backup never keeps ${COMMANDS.map(([name]) => name).join(', ')} waiting`, SLOW, async () => {
    const scenario = await makeKilledBackup();
    const aside = join(scenario.home, 'aside');
    renameSync(scenario.repository, aside);
    const work = join(scenario.home, 'work');
    for (const command of COMMANDS) {
      copyTree(aside, scenario.repository);
      expect(scenario.lockNames(), command[0]).toHaveLength(1);
      await scenario.runWellHere('--lock-wait', '0s', ...command);
      const id = await scenario.backup(work);
      await scenario.runWellHere('--lock-wait', '0s', 'compact');
      expect(scenario.lockNames(), command[0]).toEqual([]);
      const backend = new LocalBackend(scenario.repository);
      expect((await check({ backend }, { readData: true })).findings, command[0]).toEqual([]);
      expect(await restoreOne(backend, id, describeTree(work)), command[0]).toEqual([]);
      await backend.close();
      rmSync(scenario.repository, { recursive: true });
      // The next command gets an older state, and is to believe that it is the first one here.
      rmSync(join(scenario.home, 'state'), { recursive: true });
    }
  });

  it('of a compact never keeps a check or another compact waiting', SLOW, async () => {
    const directory = memoryDirectory();
    const stage = await setStage(directory, COMPACT);
    const given = { stage, action: ['compact'] };
    const operationCount = await countOperations({ ...given, repository: join(directory, 'whole') });
    // In the suite a check follows each of them anyway.
    const moments = inSoak({ check: 0.3, compact: 0.6, stats: 0.8 }, { stats: 0.3, compact: 0.7 });
    for (const [command, moment] of Object.entries(moments)) {
      const repository = join(directory, command);
      expect(isKilledAt(Math.ceil(operationCount * moment), child, { ...given, repository })).toBe(true);
      const left = readdirSync(join(repository, 'locks')).filter((name) => !name.startsWith('condemned-'));
      expect(left, command).toEqual([expect.stringMatching(/^exclusive-/)]);
      for (const words of [[command], ['check', '--read-data']]) {
        const { code, stderr } = await runLdmHere(['-r', repository, '--lock-wait', '0s', ...words]);
        expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
      }
      const backend = new LocalBackend(repository);
      const present = stage.snapshotIds.filter((id) => !stage.deletedIds.includes(id));
      expect(await examineAftermath(backend, stage, { present, absent: stage.deletedIds }), command).toEqual([]);
      await backend.close();
    }
  });
});

/** A small snapshot, and the lock of a backup that was killed while it read. Its source has an end now. */
async function makeKilledBackup(): Promise<ProcessScenario> {
  const scenario = await makeProcessScenario();
  writeFileSync(join(scenario.home, 'small'), 'small');
  await scenario.runWellHere('backup', 'small');
  const { running } = await scenario.startSuspendedBackup();
  running.child.kill('SIGKILL');
  await running.ended;
  truncateSync(join(scenario.home, 'work', 'zeros'), 10);
  return scenario;
}

/** Node's own copy keeps no nanoseconds. */
function copyTree(source: string, target: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', source, target]);
  expect(status, stderr.toString()).toBe(0);
}

describe('a lock of another machine', () => {
  const elsewhere = { ...currentLockOwner(), host: 'elsewhere', machineId: 'a'.repeat(32), bootId: 'b'.repeat(32) };
  const forge = ({ repository }: ProcessScenario, mode: 'shared' | 'exclusive'): string => {
    const name = encodeLockName({ mode, owner: { ...elsewhere, pid: 4242 }, nonce: 'abcdef0123456789' });
    writeFileSync(join(repository, 'locks', name), '');
    return name;
  };

  it('that is exclusive is respected by everything', async () => {
    const scenario = await makeProcessScenario();
    writeFileSync(join(scenario.home, 'small'), 'small');
    await scenario.runWellHere('backup', 'small');
    const name = forge(scenario, 'exclusive');
    for (const command of [
      ['backup', 'small'],
      ['check'],
      ['compact'],
      ['restore', 'latest', '-t', 'out'],
      ['repair'],
    ]) {
      const { code, stderr } = await scenario.runHere('--lock-wait', '0s', ...command);
      expect(code, command[0]).toBe(11);
      expect(stderr).toContain('process 4242 on host elsewhere');
    }
    expect(scenario.lockNames()).toEqual([name]);
  });

  it('that is shared keeps out compact only, and a delete leaves the space', async () => {
    const scenario = await makeProcessScenario();
    writeFileSync(join(scenario.home, 'small'), 'small');
    const name = forge(scenario, 'shared');
    await scenario.runWellHere('backup', 'small');
    await scenario.runWellHere('check', '--read-data');
    expect((await scenario.runHere('compact')).code).toBe(11);
    const { code, stdout, stderr } = await scenario.runHere('delete', 'latest');
    expect(code, stderr).toBe(0);
    expect(stdout + stderr).toContain('elsewhere');
    expect(scenario.lockNames()).toEqual([name]);
    unlinkSync(join(scenario.repository, 'locks', name));
    await scenario.runWellHere('compact');
  });
});
