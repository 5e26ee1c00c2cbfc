import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LocalBackend } from '../../src/backend/local-backend.ts';
import { RepositoryLock } from '../../src/repository/lock.ts';
import { createPrng } from '../support/prng.ts';
import { makeProcessScenario } from '../support/process-scenario.ts';
import { makeRandomTree, mutateTree } from '../support/random-tree.ts';
import { inSoak } from '../support/soak.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Each round starts half a dozen processes. */
const SLOW = { timeout: 3_600_000 };

describe('two backups at once', SLOW, () => {
  it('of different trees and of the same, both succeed', async () => {
    const scenario = await makeProcessScenario();
    const trees = ['one', 'two'].map((name) => join(scenario.home, name));
    trees.forEach((tree, index) => makeRandomTree(tree, { seed: 20 + index, fileCount: inSoak(50, 15) }));
    const prng = createPrng(3);
    const [one, two] = trees as [string, string];
    for (let round = 0; round < inSoak(2, 1); round += 1) {
      // Of the same tree as if by two machines, so that neither compares with the other's.
      const hosts = inSoak(['a', 'b', 'a'], ['a', 'b']);
      const same = (): Promise<string>[] => hosts.map(async (host) => scenario.backupBuilt(one, '--host', host));
      const different = inSoak([one, two], [two]).map(async (tree) => scenario.backupBuilt(tree));
      // All three at once in the suite.
      if (inSoak(true, false)) await Promise.all(different);
      await Promise.all([...different, ...same()]);
      for (const tree of trees) mutateTree(tree, prng);
    }
    expect(scenario.snapshotIds()).toHaveLength(inSoak(10, 3));
    expect(scenario.lockNames()).toEqual([]);
    await scenario.expectWhole();
  });
});

describe('a backup beside a delete that gives space back', SLOW, () => {
  it.each([
    ['backup first', inSoak(50, 1)],
    ['delete first', inSoak(50, 1)],
    ['together', inSoak(50, 1)],
  ])('%s: both succeed, %i times', async (order, roundCount) => {
    const scenario = await makeProcessScenario();
    const tree = join(scenario.home, 'tree');
    const prng = createPrng(order.length);
    makeRandomTree(tree, { seed: 7, fileCount: inSoak(60, 25) });
    let previous = await scenario.backup(tree);
    for (let round = 0; round < roundCount; round += 1) {
      mutateTree(tree, prng, { changeCount: inSoak(20, 10) });
      const doomed = previous;
      const remove = async (run = scenario.run): Promise<void> => {
        const { code, stderr } = await run('delete', doomed);
        expect(code, stderr).toBe(0);
      };
      const backUp = async (inner = scenario.backupBuilt): Promise<void> => void (previous = await inner(tree));
      const first = order === 'delete first' ? remove() : backUp();
      if (order !== 'together')
        await waitUntil(() => scenario.lockNames().length > 0 || round % 3 > 0, 'the first lock');
      // The second one begins at once in this process; one of its own would begin when the first has almost ended.
      const seconds = {
        'backup first': async () => remove(scenario.runHere),
        'delete first': async () => backUp(scenario.backup),
      };
      await Promise.all([first, (seconds[order as keyof typeof seconds] ?? remove)()]);
      expect(scenario.snapshotIds()).toEqual([previous]);
      expect(scenario.lockNames()).toEqual([]);
      await scenario.expectWhole();
    }
    await scenario.runWellHere('compact', '--max-unused', '0');
    await scenario.expectWhole();
  });
});

describe('a suspended backup', () => {
  it('lets others read, back up and delete, and a compact exits 11 and names it', async () => {
    const scenario = await makeProcessScenario();
    const tree = join(scenario.home, 'tree');
    makeRandomTree(tree, inSoak({ seed: 9 }, { seed: 9, fileCount: 10 }));
    const kept = await scenario.backup(tree);
    const { running, finish } = await scenario.startSuspendedBackup();
    await scenario.runWellHere('stats');
    await scenario.runWellHere('ls', 'latest');
    await scenario.runWellHere('snapshots');
    await scenario.runWellHere('check', '--read-data');
    await scenario.runWellHere('restore', 'latest', '--target', join(scenario.home, 'back'));
    await scenario.expectWhole();
    const doomed = await scenario.backup(tree, '--host', 'other');
    const deleted = await scenario.runHere('delete', doomed);
    expect(deleted.code).toBe(0);
    expect(deleted.stdout + deleted.stderr).toContain('compact');
    for (const command of ['compact', 'repair']) {
      const { code, stderr } = await scenario.runHere(command);
      expect(code, command).toBe(11);
      expect(stderr).toContain(`process ${running.child.pid} on host`);
    }
    expect(await finish()).toBe(0);
    expect(scenario.snapshotIds()).toHaveLength(2);
    expect(scenario.snapshotIds()).toContain(kept);
    await scenario.runWellHere('compact');
    await scenario.expectWhole();
  });

  it('is waited for by a compact that was asked to wait', async () => {
    const scenario = await makeProcessScenario();
    const { running, finish } = await scenario.startSuspendedBackup();
    const compact = scenario.runHere('compact', '--lock-wait', '5m');
    const pattern = new RegExp(`waiting.*process ${running.child.pid} on host`);
    await waitUntil(() => pattern.test(saidHere()), 'the waiting of the compact');
    expect(await finish()).toBe(0);
    expect((await compact).code).toBe(0);
    await scenario.expectWhole();
  });
});

/** What a command that runs in this process has said on stderr. */
function saidHere(): string {
  const write: unknown = Reflect.get(process.stderr, 'write');
  return vi.isMockFunction(write) ? write.mock.calls.map(([text]) => String(text)).join('') : '';
}

describe('while somebody compacts', () => {
  const commands = [
    ['backup', 'tree'],
    ['delete', 'latest', '--host', 'two'],
    ['check'],
    ['stats'],
    ['restore', 'latest', '-t', 'back'],
  ];

  it(`${commands.map(([name]) => name).join(', ')} wait by themselves`, SLOW, async () => {
    const scenario = await makeProcessScenario();
    makeRandomTree(join(scenario.home, 'tree'), { seed: 10, fileCount: 5 });
    // One for the delete, one for the restore.
    for (const host of ['one', 'two']) await scenario.backup(join(scenario.home, 'tree'), '--host', host);
    const backend = new LocalBackend(scenario.repository);
    for (const command of commands) {
      const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
      const words = command.map((word) => (['tree', 'back'].includes(word) ? join(scenario.home, word) : word));
      let hasEnded = false;
      const waiting = scenario.runHere(...words).finally(() => (hasEnded = true));
      const pattern = new RegExp(`waiting.*process ${process.pid} on host`);
      await waitUntil(() => hasEnded || pattern.test(saidHere()), `the waiting of ${command[0]}`);
      expect(hasEnded, `${command[0]} did not wait`).toBe(false);
      await lock.release();
      expect((await waiting).code, command[0]).toBe(0);
      expect(scenario.lockNames(), command[0]).toEqual([]);
    }
    await backend.close();
    rmSync(join(scenario.home, 'back'), { recursive: true });
    await scenario.expectWhole();
  });
});
