import { existsSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { LdmError } from '../../../src/core/errors.ts';
import type { ListedName } from '../../../src/core/backend/backend.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { createSignalHook } from '../../support/signal-hook.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** As git and object stores do with what they copy. */
function loseEmptyDirectories(repository: TestRepository): number {
  const place = join(repository.directory, 'repository');
  const empty = readdirSync(place, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && readdirSync(join(place, entry.name)).length === 0,
  );
  for (const { name } of empty) rmdirSync(join(place, name));
  return empty.length;
}

test('a repository that is moved away while a backup runs does not begin anew in its place', async () => {
  const repository = await makeTestRepository();
  const place = join(repository.directory, 'repository');
  writeFileSync(join(repository.source, 'file'), 'content');
  let isMoved = false;
  const signal = createSignalHook(() => {
    if (existsSync(place) && readdirSync(join(place, 'locks')).length > 0 && !isMoved) {
      isMoved = true;
      renameSync(place, `${place}.away`);
    }
  });
  const options = { sources: [repository.source], cwd: repository.directory };
  await expect(backup({ ...repository.context, signal }, options)).rejects.toThrow(LdmError);
  expect(isMoved).toBe(true);
  expect(existsSync(place)).toBe(false);
});

test.each([
  ['that was just made', async (): Promise<void> => undefined],
  [
    'whose snapshots are all deleted',
    async ({ backup: save, context }: TestRepository): Promise<void> => {
      await save();
      await deleteSnapshots(context, { selectors: ['latest'], reclaim: false });
    },
  ],
  [
    'whose snapshots are all deleted and reclaimed',
    async ({ backup: save, context }: TestRepository): Promise<void> => {
      await save();
      await deleteSnapshots(context, { selectors: ['latest'] });
    },
  ],
])('every command opens a copy of a repository %s without its empty directories', async (_, prepare) => {
  const repository = await makeTestRepository();
  const { context } = repository;
  writeFileSync(join(repository.source, 'file'), 'content');
  await prepare(repository);
  for (const run of [
    async () => expect(await listSnapshots(context)).toEqual([]),
    async () => expect((await collectStats(context)).snapshotsCount).toBe(0),
    async () => expect((await check(context)).findings).toEqual([]),
    async () => expect((await repair(context)).actions).toEqual([]),
    async () => compact(context, { maxUnusedPercent: 0 }),
    async () => repository.backup(),
  ]) {
    loseEmptyDirectories(repository);
    expect(existsSync(join(repository.directory, 'repository', 'snapshots'))).toBe(false);
    await run();
  }
  await repository.expectClean();
  await repository.expectRestored();
});

test('compact removes nothing where a directory is missing that cannot have been empty', async () => {
  for (const lost of [['snapshots'], ['index'], ['snapshots', 'index', 'manifests.bak', 'filter']]) {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'content');
    await repository.backup();
    for (const name of lost) rmSync(join(repository.directory, 'repository', name), { recursive: true });
    const packs = (await repository.context.backend.list('packs')).length;
    await expect(compact(repository.context, { maxUnusedPercent: 0 })).rejects.toMatchObject({ code: 'REFUSED' });
    expect((await repository.context.backend.list('packs')).length).toBe(packs);
  }
});

test('a repository that vanishes after its configuration was read is not taken for an empty one', async () => {
  const repository = await makeTestRepository();
  const place = join(repository.directory, 'repository');
  class VanishingBackend extends LocalBackend {
    override async listNames(directory: string): Promise<ListedName[]> {
      if (directory === 'snapshots' && existsSync(place)) renameSync(place, `${place}.away`);
      return await super.listNames(directory);
    }
  }
  const context = { ...repository.context, backend: new VanishingBackend(place) };
  await expect(check(context)).rejects.toMatchObject({ code: 'BACKEND' });
  expect(existsSync(place)).toBe(false);
});

test('a copy of a repository that lost its empty directories can be used as it is', async () => {
  const repository = await makeTestRepository();
  const file = join(repository.source, 'file');
  writeFileSync(file, 'one');
  await repository.backup();
  expect(loseEmptyDirectories(repository)).toBeGreaterThan(2);
  writeFileSync(file, 'another');
  await repository.backup();
  await repository.expectRestored();
  for (const act of [
    async () => deleteSnapshots(repository.context, { selectors: ['latest~1'], reclaim: false }),
    async () => compact(repository.context, { maxUnusedPercent: 0 }),
    async () => {
      rmSync(join(repository.directory, 'repository', 'config.bak'));
      expect((await repair(repository.context)).actions).not.toEqual([]);
    },
  ]) {
    expect(loseEmptyDirectories(repository)).toBeGreaterThan(0);
    await act();
    await repository.expectClean();
    await repository.expectRestored();
  }
});
