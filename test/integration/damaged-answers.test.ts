import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { LdmError } from '../../src/core/errors.ts';
import { checkStorage } from '../../src/verbs/check/check-storage.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { contextOf, setEncryptedStage } from '../support/encrypted-stage.ts';
import type { EncryptedStage } from '../support/encrypted-stage.ts';
import { checkAll, filesIn, presentIds, setDamageStage, tryRestore } from '../support/damage.ts';
import { LyingBackend } from '../support/lying-backend.ts';
import type { Lie } from '../support/lying-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { sftpBackend, sftpProblem } from '../support/sftp-server.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

type Run = (context: OperationContext) => Promise<unknown>;

const OPERATIONS: Readonly<Record<string, Run>> = {
  snapshots: async (context) => listSnapshots(context),
  restore: async (context) => restore(context, { selector: 'latest', target: join(memoryDirectory(), 'target') }),
  check: async (context) => check(context, { readData: true }),
  'check without a key': async (context) => checkStorage(context),
  repair: async (context) => repair(context),
  compact: async (context) => compact(context, { maxUnusedPercent: 0 }),
  delete: async (context) => deleteSnapshots(context, { selectors: ['latest'], reclaim: false }),
};

/** What an operation claims about the repository: nothing may be called damaged, lost or repaired. */
function claimOf(result: unknown): unknown {
  const { findings, actions, remaining, problems } = result as Record<string, readonly unknown[] | undefined>;
  return [findings, actions, remaining, problems].flatMap((each) => each ?? []);
}

async function outcomeOf(run: Run, context: OperationContext): Promise<string> {
  try {
    expect(claimOf(await run(context))).toEqual([]);
    return 'success';
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    return error.code;
  }
}

/** Every byte is as it was, and what only the operation may remove is the one thing that is gone. */
async function expectSound(disk: MemoryBackend): Promise<void> {
  expect(filesIn(disk, 'quarantine')).toEqual([]);
  expect((await checkAll(disk)).findings).toEqual([]);
}

const LIES: readonly Lie[] = ['flip', 'cut'];
const KINDS = ['config', 'index/', 'snapshots/', 'deleted/', 'manifests.bak/', 'filter/', 'packs/', ''];
const CASES = LIES.flatMap((lie) => KINDS.map((kind) => [lie, kind] as const));

test.each(CASES)(
  'wrong answers (%s) about "%s" damage nothing and are not called damage (seed 1)',
  async (lie, kind) => {
    const stage = await setDamageStage(memoryDirectory());
    const prng = createPrng(1);
    const isAbout = (name: string): boolean => name.startsWith(kind);
    let lieCount = 0;
    for (const percent of [1, 10, 50, 100]) {
      for (const [name, run] of Object.entries(OPERATIONS)) {
        const disk = stage.backend.copy();
        const lying = new LyingBackend(disk, { prng, lie, percent, isAbout });
        const outcome = await outcomeOf(run, simulatedProcess(lying));
        lieCount += lying.lieCount;
        const what = `${name}, ${percent} %`;
        expect(['success', 'UNRELIABLE_READ'], what).toContain(outcome);
        if (percent <= 1) expect(outcome, what).toBe('success');
        if (percent === 100 && kind === '') expect(outcome, what).toBe('UNRELIABLE_READ');
        await expectSound(disk);
        const [id] = presentIds(stage);
        const whole = await tryRestore(disk, id!, stage.trees.get(id!)!);
        if (name !== 'delete') expect(whole, what).toMatchObject({ isClaimedWhole: true, wrong: [] });
      }
    }
    expect(lieCount).toBeGreaterThan(10);
  },
);

async function stageOfKeys(): Promise<EncryptedStage> {
  return await setEncryptedStage(memoryDirectory());
}

const SEALED_KINDS = ['config', 'keys/', 'condemned/', 'unfinished/', 'filter/', 'index/', 'packs/', ''];

test.each(SEALED_KINDS)('the same holds for "%s" of an encrypted repository (seed 2)', async (kind) => {
  const { backend, password } = await stageOfKeys();
  const prng = createPrng(2);
  for (const lie of LIES) {
    for (const percent of inSoak([1, 10, 50, 100], [1, 50, 100])) {
      for (const name of ['snapshots', 'check', 'repair']) {
        const disk = backend.copy();
        const lying = new LyingBackend(disk, { prng, lie, percent, isAbout: (file) => file.startsWith(kind) });
        const clean = await outcomeOrClaim(OPERATIONS[name]!, contextOf(backend.copy(), password));
        const outcome = await outcomeOrClaim(OPERATIONS[name]!, contextOf(lying as unknown as MemoryBackend, password));
        if (outcome !== 'UNRELIABLE_READ') expect(outcome, `${name}, ${lie}, ${percent} %`).toEqual(clean);
        expect(filesIn(disk, 'quarantine')).toEqual(filesIn(backend, 'quarantine'));
      }
    }
  }
});

/** What an operation claims, or the code of its error. The stage may have something to find. */
async function outcomeOrClaim(run: Run, context: OperationContext): Promise<unknown> {
  try {
    return claimOf(await run(context));
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    return error.code;
  }
}

test('the same wrong answer again and again is damage', async () => {
  const stage = await setDamageStage(memoryDirectory());
  for (const name of ['config', ...filesIn(stage.backend, 'snapshots'), ...filesIn(stage.backend, 'index')]) {
    const disk = stage.backend.copy();
    const bytes = disk.peek(name)!;
    bytes[bytes.length >> 1]! ^= 4;
    disk.poke(name, bytes);
    const { findings } = await check(simulatedProcess(disk), { readData: true });
    expect(
      findings.map(({ kind }) => kind),
      name,
    ).toContainEqual(expect.stringMatching(/-damaged$/));
  }
});

test('the same holds for a repository on an SFTP server (seed 5)', async (context) => {
  if (sftpProblem !== undefined) context.skip(sftpProblem);
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), createPrng(5).bytes(20_000));
  await repository.backup();
  const prng = createPrng(5);
  for (const percent of [20, 100]) {
    const lying = new LyingBackend(sftpBackend(join(repository.directory, 'repository')), {
      prng,
      lie: 'flip',
      percent,
    });
    for (const name of ['snapshots', 'restore', 'check', 'repair', 'compact']) {
      const outcome = await outcomeOf(OPERATIONS[name]!, { ...repository.context, backend: lying });
      expect(['success', 'UNRELIABLE_READ'], name).toContain(outcome);
      if (percent === 100) expect(outcome, name).toBe('UNRELIABLE_READ');
    }
    expect(filesOf(repository, 'quarantine')).toEqual([]);
    await repository.expectClean();
  }
});
