import { existsSync, mkdirSync, readdirSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { encodeLockName } from '../../src/repository/lock-name.ts';
import { currentLockOwner } from '../../src/repository/lock-owner.ts';
import { createPrng } from '../support/prng.ts';
import { makeProcessScenario } from '../support/process-scenario.ts';
import type { ProcessScenario } from '../support/process-scenario.ts';
import { waitUntil } from '../support/wait-until.ts';

describe('a lock left by kill -9', () => {
  it.each([['compact'], ['repair'], ['backup', 'small'], ['check', '--read-data'], ['stats'], ['delete', 'latest']])(
    'of a backup never keeps %s waiting',
    async (...command) => {
      const scenario = await makeProcessScenario();
      writeFileSync(join(scenario.home, 'small'), 'small');
      await scenario.runWell('backup', 'small');
      const { running } = await scenario.startSuspendedBackup();
      running.child.kill('SIGKILL');
      await running.ended;
      expect(scenario.lockNames()).toHaveLength(1);
      await scenario.runWell('--lock-wait', '0s', ...command);
      truncateSync(join(scenario.home, 'work', 'zeros'), 10);
      await scenario.backup(join(scenario.home, 'work'));
      await scenario.runWell('--lock-wait', '0s', 'compact');
      expect(scenario.lockNames()).toEqual([]);
      await scenario.expectWhole();
    },
  );

  it('of a compact never keeps a check or another compact waiting', { timeout: 240_000 }, async () => {
    const scenario = await makeProcessScenario();
    const tree = join(scenario.home, 'tree');
    let killedCount = 0;
    for (let round = 0; killedCount < 3; round += 1) {
      expect(round, 'compact was never caught while it held its lock').toBeLessThan(30);
      await makeWorkForCompact(scenario, tree, round);
      const compact = scenario.start('compact', '--max-unused', '0');
      const isLocked = (): boolean => scenario.lockNames().some((name) => name.startsWith('exclusive-'));
      await Promise.race([compact.ended, waitUntil(isLocked, 'the exclusive lock')]);
      // Some of them a little later, in the middle of the work.
      for (let turn = 0; turn < round * 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      compact.child.kill('SIGKILL');
      await compact.ended;
      if (!isLocked()) continue;
      killedCount += 1;
      await scenario.runWell('--lock-wait', '0s', ['check', 'compact', 'stats'][killedCount % 3]!);
      await scenario.expectWhole();
    }
  });
});

/** A snapshot, and packs that are dead in part. */
async function makeWorkForCompact(scenario: ProcessScenario, tree: string, round: number): Promise<void> {
  const prng = createPrng(round);
  const kept = join(tree, 'kept');
  mkdirSync(tree, { recursive: true });
  for (const name of ['kept', 'dropped', 'dropped too']) writeFileSync(join(tree, name), prng.bytes(6 << 20));
  const doomed = await scenario.backup(tree);
  for (const name of readdirSync(tree)) if (name !== 'kept') unlinkSync(join(tree, name));
  expect(existsSync(kept)).toBe(true);
  await scenario.backup(tree);
  await scenario.runWell('delete', '--no-reclaim', doomed);
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
    await scenario.runWell('backup', 'small');
    const name = forge(scenario, 'exclusive');
    for (const command of [
      ['backup', 'small'],
      ['check'],
      ['compact'],
      ['restore', 'latest', '-t', 'out'],
      ['repair'],
    ]) {
      const { code, stderr } = await scenario.run('--lock-wait', '0s', ...command);
      expect(code, command[0]).toBe(11);
      expect(stderr).toContain('process 4242 on host elsewhere');
    }
    expect(scenario.lockNames()).toEqual([name]);
  });

  it('that is shared keeps out compact only, and a delete leaves the space', async () => {
    const scenario = await makeProcessScenario();
    writeFileSync(join(scenario.home, 'small'), 'small');
    const name = forge(scenario, 'shared');
    await scenario.runWell('backup', 'small');
    await scenario.runWell('check', '--read-data');
    expect((await scenario.run('compact')).code).toBe(11);
    const { code, stdout, stderr } = await scenario.run('delete', 'latest');
    expect(code, stderr).toBe(0);
    expect(stdout + stderr).toContain('elsewhere');
    expect(scenario.lockNames()).toEqual([name]);
    unlinkSync(join(scenario.repository, 'locks', name));
    await scenario.runWell('compact');
  });
});
