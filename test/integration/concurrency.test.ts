import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { RepositoryLock } from '../../src/core/repository/locks/lock.ts';
import { createPrng } from '../support/prng.ts';
import { makeProcessScenario } from '../support/process-scenario.ts';
import type { ProcessScenario } from '../support/process-scenario.ts';
import { makeRandomTree, mutateTree } from '../support/random-tree.ts';
import { inSoak } from '../support/soak.ts';
import { stoppingProgram } from '../support/stopping-program.ts';
import type { Stop } from '../support/stopping-program.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Each round starts half a dozen processes. */
const SLOW = { timeout: 3_600_000 };

type Command = (scenario: Pick<ProcessScenario, 'run' | 'backup'>) => Promise<void>;

/** Runs each in a process of its own. If they stop, they go on when the last one has stopped. */
async function runTogether(
  scenario: ProcessScenario,
  stop: Stop | undefined,
  commands: readonly Command[],
): Promise<void> {
  const programs = commands.map(() => (stop === undefined ? undefined : stoppingProgram(stop)));
  const running = commands.map(async (command, index) => command(scenario.startedWith(programs[index]?.options ?? {})));
  for (const program of programs) await program?.stopped();
  if (stop !== undefined) expect(scenario.lockNames()).toHaveLength(commands.length);
  for (const program of programs) program?.goOn();
  await Promise.all(running);
}

describe('two backups at once', SLOW, () => {
  it('of different trees and of the same, both succeed', async () => {
    const scenario = await makeProcessScenario();
    const trees = ['one', 'two'].map((name) => join(scenario.home, name));
    trees.forEach((tree, index) => makeRandomTree(tree, { seed: 20 + index, fileCount: inSoak(50, 15) }));
    const prng = createPrng(3);
    const [one, two] = trees as [string, string];
    for (let round = 0; round < inSoak(2, 1); round += 1) {
      // Of the same tree as if by two machines, so that neither compares with the other's.
      const same = ['a', 'b', ...inSoak(['a'], [])].map((host) => [one, '--host', host]);
      // All three at once in the suite.
      for (const backups of inSoak([[[one], [two]], same], [[[two], ...same]])) {
        const commands = backups.map(([tree, ...args]): Command => {
          return async ({ backup }) => void (await backup(tree!, ...args));
        });
        await runTogether(scenario, 'locked', commands);
      }
      for (const tree of trees) mutateTree(tree, prng);
    }
    expect(scenario.snapshotIds()).toHaveLength(inSoak(10, 3));
    expect(scenario.lockNames()).toEqual([]);
    await scenario.expectWhole();
  });
});

interface Beside {
  readonly scenario: ProcessScenario;
  readonly save: Command;
  readonly remove: Command;
  /** Whether one is stopped where it matters; else they overlap by chance. */
  readonly areStopped: boolean;
}

async function meet(scenario: ProcessScenario, stop: Stop, first: Command, second: Command): Promise<void> {
  const program = stoppingProgram(stop);
  const running = first(scenario.startedWith(program.options));
  await program.stopped();
  await second({ run: scenario.runHere, backup: scenario.backup });
  expect(scenario.lockNames()).toHaveLength(1);
  program.goOn();
  await running;
}

/** The first one runs in a process of its own, and the second one begins at once in this one. */
async function both(scenario: ProcessScenario, first: Command, second: Command): Promise<void> {
  const running = first(scenario.startedWith({}));
  await Promise.all([running, second({ run: scenario.runHere, backup: scenario.backup })]);
}

const ORDERS: Readonly<Record<string, (given: Beside) => Promise<void>>> = {
  'backup first': async ({ scenario, save, remove, areStopped }) =>
    areStopped ? await meet(scenario, 'snapshot ready', save, remove) : await both(scenario, save, remove),
  'delete first': async ({ scenario, save, remove, areStopped }) =>
    areStopped ? await meet(scenario, 'delete ready', remove, save) : await both(scenario, remove, save),
  together: async ({ scenario, save, remove, areStopped }) =>
    await runTogether(scenario, areStopped ? 'locked' : undefined, [save, remove]),
};

describe('a backup beside a delete that gives space back', SLOW, () => {
  const roundCount = inSoak(50, 1);

  it.each(Object.keys(ORDERS))(`%s: both succeed, ${roundCount} times`, async (order) => {
    const scenario = await makeProcessScenario();
    const tree = join(scenario.home, 'tree');
    const prng = createPrng(order.length);
    makeRandomTree(tree, { seed: 7, fileCount: inSoak(60, 25) });
    let previous = await scenario.backup(tree);
    for (let round = 0; round < roundCount; round += 1) {
      mutateTree(tree, prng, { changeCount: inSoak(20, 10) });
      const doomed = previous;
      const remove: Command = async ({ run }) => {
        const { code, stderr } = await run('delete', doomed);
        expect(code, stderr).toBe(0);
      };
      const save: Command = async ({ backup }) => void (previous = await backup(tree));
      await ORDERS[order]!({ scenario, save, remove, areStopped: round % 3 === 0 });
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
