import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OperationContext } from '../../src/core/session/context.ts';
import { check } from '../../src/verbs/check/check.ts';
import { initRepository, initRepositoryIfMissing } from '../../src/core/creating/init.ts';
import type { RepositoryMemory } from '../../src/core/session/memory.ts';
import { withRepository } from '../../src/core/session/session.ts';
import { repositoryExists } from '../../src/core/repository/create-repository.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { runLdm } from '../support/run-ldm.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { SuspendedBackend } from '../support/suspended-backend.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { testPassword } from '../support/test-password.ts';

/** Two password hashes for each of some fifty operations. */
const SLOW = { timeout: 300_000 };

async function takeLocksOver(disk: MemoryBackend): Promise<void> {
  for (const name of disk.names().filter((each) => each.startsWith('locks/'))) await disk.unlink(name);
}

interface Outcome {
  readonly id: string | undefined;
  readonly password: string;
}

async function tryInit(context: OperationContext, password: string): Promise<Outcome> {
  const made = await initRepository(
    { ...context, password: testPassword(password), lockWaitMs: 0 },
    { capacity: 64, encryption: password === '' ? 'never' : 'always' },
  ).catch(() => undefined);
  return { id: made?.repositoryId, password };
}

async function idOf(context: OperationContext): Promise<string> {
  return await withRepository(context, 'read', async ({ config }) => config.repositoryId);
}

test.each(['plain', 'encrypted'])(
  'of two that create a %s repository, one suspended anywhere, one at most succeeds',
  SLOW,
  async (kind) => {
    const [first, second] = kind === 'plain' ? ['', ''] : ['one', 'two'];
    const step = inSoak(kind === 'plain' ? 1 : 3, kind === 'plain' ? 4 : 9);
    let overtakenCount = 0;
    let findingCount = 0;
    for (let at = 1; ; at += step) {
      const disk = new MemoryBackend();
      let rival: Outcome | undefined;
      const suspended = new SuspendedBackend(
        disk,
        (count) => count === at,
        async () => {
          await takeLocksOver(disk);
          rival = await tryInit(simulatedProcess(disk), second);
        },
      );
      const own = await tryInit(simulatedProcess(suspended), first);
      if (rival === undefined) break;
      const winners = [own, rival].filter(({ id }) => id !== undefined);
      if (own.id === undefined) overtakenCount += 1;
      expect(winners.length, `operation ${at}`).toBeLessThan(2);
      const [winner] = winners;
      if (winner === undefined) {
        // Neither may leave anything that keeps a third one from doing it.
        expect(await repositoryExists(disk), `operation ${at}`).toBe(false);
        expect((await tryInit(simulatedProcess(disk), first)).id, `operation ${at}`).toBeDefined();
        continue;
      }
      const context = { ...simulatedProcess(disk), password: testPassword(winner.password) };
      expect(await idOf(context), `operation ${at}`).toBe(winner.id);
      const { findings } = await check(context, { readData: true });
      // The copy of the configuration and the key of the other one: `repair` puts the first right, and nobody needs the second.
      for (const finding of findings) {
        expect(['config-damaged', 'key-damaged'], `operation ${at}`).toContain(finding.kind);
        findingCount += 1;
      }
    }
    expect(findingCount).toBeLessThan(4);
    expect(overtakenCount).toBeGreaterThan(60 / step);
  },
);

test('two that are both suspended do not leave the copy of one beside the configuration of the other', async () => {
  const disk = new MemoryBackend();
  let first: Promise<Outcome>;
  const second = await new Promise<Outcome>((secondDone) => {
    const beforeConfig = (_: number, step: string): boolean => step.endsWith('-> config');
    const suspended = new SuspendedBackend(disk, beforeConfig, async () => {
      await takeLocksOver(disk);
      await new Promise<void>((goOn) => {
        const beforeRemoval = (__: number, step: string): boolean => step === 'remove config.bak';
        const other = new SuspendedBackend(disk, beforeRemoval, async () => {
          goOn();
          await first;
        });
        void tryInit(simulatedProcess(other), '').then(secondDone);
      });
    });
    first = tryInit(simulatedProcess(suspended), '');
  });
  expect([(await first!).id, second.id]).toEqual([await idOf(simulatedProcess(disk)), undefined]);
  expect((await check(simulatedProcess(disk), { readData: true })).findings).toEqual([]);
});

test('a first backup uses the repository that another one creates and remembers right before it asks the memory', async () => {
  const [disk, rival] = [new MemoryBackend(), new MemoryBackend()];
  const password = testPassword('one');
  const created = await initRepository({ ...simulatedProcess(rival), password }, { capacity: 64 });
  const memory: RepositoryMemory = {
    tracesOfId: () => [],
    recall: () => undefined,
    update: () => undefined,
    noteWritten: () => undefined,
    writtenPacks: () => new Set(),
    forgetWritten: () => undefined,
    forgetPlace: () => undefined,
    seenAt: () => [],
    tracesOfPlace: () => {
      for (const name of rival.directoryNames()) disk.pokeDirectory(name);
      for (const name of rival.names()) disk.poke(name, rival.view(name));
      return ['trace'];
    },
  };
  const outcome = await initRepositoryIfMissing({ ...simulatedProcess(disk), password, memory });
  expect(outcome).toMatchObject({ isNew: false });
  expect(await idOf({ ...simulatedProcess(disk), password })).toBe(created.repositoryId);
});

test('several first backups at the same moment share one repository', SLOW, async () => {
  for (const [password, count] of [
    [undefined, inSoak(4, 2)],
    ['secret', inSoak(4, 2)],
  ] as const) {
    const directory = memoryDirectory();
    mkdirSync(join(directory, 'work'));
    writeFileSync(join(directory, 'work', 'notes'), 'notes');
    const env = { XDG_DATA_HOME: join(directory, 'data'), LDM_PASSWORD: password };
    const surroundings = { cwd: directory, env };
    const backups = Array.from({ length: count }, async () => runLdm(['backup', 'work'], surroundings));
    const results = await Promise.all(backups);
    for (const { code, stderr } of results) expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    expect(results.filter(({ stdout }) => stdout.includes('created repository'))).toHaveLength(1);
    const repository = join(directory, 'data', 'ldm', 'repository');
    expect(readdirSync(join(repository, 'snapshots'))).toHaveLength(count);
    expect(await runLdmHere(['check', '--read-data'], surroundings)).toMatchObject({ code: 0 });
  }
});

test('of several init at the same moment one succeeds, with its own password', SLOW, async () => {
  const directory = memoryDirectory();
  const place = join(directory, 'repository');
  const run = async (program: typeof runLdm, password: string, command: string): Promise<RunLdmResult> =>
    await program(['-r', place, command], { env: { LDM_PASSWORD: password } });
  const passwords = inSoak(['one', 'two', 'three', 'four'], ['one', 'two']);
  const results = await Promise.all(passwords.map(async (password) => run(runLdm, password, 'init')));
  expect(results.map(({ code }) => code).filter((code) => code === 0)).toHaveLength(1);
  for (const { code, stderr } of results) if (code !== 0) expect(stderr).toContain('is already a repository');
  expect(readdirSync(join(place, 'keys'))).toHaveLength(1);
  for (const [index, password] of passwords.entries()) {
    expect((await run(runLdmHere, password, 'check')).code).toBe(results[index]!.code === 0 ? 0 : 12);
  }
});
