import { existsSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { LdmError } from '../../src/errors.ts';
import { backup } from '../../src/operations/backup.ts';
import { compact } from '../../src/operations/compact.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { repair } from '../../src/operations/repair.ts';
import { createSignalHook } from '../support/signal-hook.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

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
