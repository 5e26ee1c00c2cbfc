import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { RepositoryLock, currentLockOwner } from '../../../src/core/repository/locks/lock.ts';
import { filesIn } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests, simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { fakeClock, forgeLock } from '../../support/forged-locks.ts';
import { testNeeding } from '../../support/tools.ts';
import { NO_ROOT, giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';

/** Storage on which files can be created, and neither removed nor replaced, except in some directories. */
class KeepingBackend extends FaultyBackend {
  readonly #free: RegExp;

  constructor(inner: MemoryBackend, free: RegExp) {
    super(inner);
    this.#free = free;
  }

  override async rename(source: string, target: string): Promise<void> {
    if (!this.#free.test(source) || (await this.inner.sizeOf(target)) !== undefined)
      throw this.#denied('rename', source);
    await super.rename(source, target);
  }

  override async unlink(name: string): Promise<boolean> {
    if (!this.#free.test(name)) throw this.#denied('remove', name);
    return await super.unlink(name);
  }

  #denied(operation: 'rename' | 'remove', name: string): Error {
    return backendFailure({ location: this.location, operation, name, errno: 'EPERM' });
  }
}

/** Backs up so often, and so much that is new, that checkpoints are outdated. */
async function backUpOften(backUp: () => Promise<unknown>, source: string): Promise<void> {
  const prng = createPrng(1);
  for (let count = 0; count < 5; count += 1) {
    writeFileSync(join(source, `file-${count}`), prng.bytes(30_000));
    await backUp();
  }
}

test.each([
  ['tmp and locks', /^(tmp|locks)\//, []],
  ['tmp only', /^tmp\//, Array.from({ length: 6 }, () => 'lock-not-released')],
])('backups need to remove files in %s', async (_, free, expected) => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  const keeping = new KeepingBackend(disk, free);
  const kinds: string[] = [];
  const context = (): OperationContext => ({
    ...simulatedProcess(keeping),
    onNotice: ({ kind }) => void kinds.push(kind),
  });
  const source = memoryDirectory();
  await backUpOften(async () => backup(context(), { sources: [source], cwd: source }), source);
  expect((await check(context(), { readData: true })).findings).toEqual([]);
  expect(kinds).toEqual(expected);
  expect(filesIn(disk, 'filter').length).toBeGreaterThan(2);
  await expect(deleteSnapshots(context(), { selectors: ['latest'] })).rejects.toThrow('EPERM');
  // Whoever owns the storage can do it, and the locks and checkpoints that are left are no hindrance.
  await deleteSnapshots(simulatedProcess(disk), { selectors: ['latest'] });
  expect(filesIn(disk, 'filter').length).toBeLessThanOrEqual(2);
  expect(filesIn(disk, 'snapshots')).toHaveLength(4);
  expect((await check(simulatedProcess(disk), { readData: true })).findings).toEqual([]);
});

test('a lock that is only stale must go, since its holder may be suspended', async () => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  forgeLock(disk, 'shared', { ...currentLockOwner(), host: 'elsewhere' });
  const keeping = new KeepingBackend(disk, /^tmp\//);
  const clock = fakeClock();
  const wanted = { mode: 'exclusive', waitMs: 60 * 60_000 } as const;
  await expect(RepositoryLock.acquire(keeping, { ...wanted, clock })).rejects.toThrow('EPERM');
  expect(clock.nowMs()).toBeGreaterThan(29 * 60_000);
  await (await RepositoryLock.acquire(disk, { ...wanted, clock: fakeClock() })).release();
});

/** As a job of the administrator does it: what clients have written belongs to him, and they can still read it. */
function takeOver(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' })) {
    const path = join(entry.parentPath, entry.name);
    chownSync(path, 0, 0);
    chmodSync(path, entry.isDirectory() ? 0o1777 : 0o644);
  }
}

testNeeding(NO_ROOT)(`backups work in sticky directories, in files of another user`, async () => {
  const directory = memoryDirectory();
  chmodSync(directory, 0o755);
  const [repository, source] = [join(directory, 'repository'), join(directory, 'source')];
  mkdirSync(source);
  const notices: unknown[] = [];
  const context = (): OperationContext => ({
    ...optionsOfTests(),
    backend: new LocalBackend(repository),
    onNotice: (notice) => void notices.push(notice),
  });
  await initRepository(context(), { capacity: 64 });
  for (let count = 0; count < 256; count += 1)
    mkdirSync(join(repository, 'packs', count.toString(16).padStart(2, '0')), { recursive: true });
  takeOver(repository);
  chmodSync(repository, 0o1777);
  const backUp = async (): Promise<void> => {
    takeOver(repository);
    giveToNobody(source);
    await withoutPrivileges(async () => void (await backup(context(), { sources: [source], cwd: source })));
  };
  await backUpOften(backUp, source);
  takeOver(repository);
  await withoutPrivileges(async () => {
    expect((await check(context(), { readData: true })).findings).toEqual([]);
    await expect(deleteSnapshots(context(), { selectors: ['latest'] })).rejects.toThrow(/EPERM|EACCES/);
  });
  expect(notices).toEqual([]);
  await deleteSnapshots(context(), { selectors: ['latest'] });
  expect(readdirSync(join(repository, 'snapshots'))).toHaveLength(4);
});
