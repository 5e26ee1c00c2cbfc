import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { TargetError } from '../../../src/core/errors.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';

interface ClosedTarget {
  readonly repository: TestRepository;
  readonly directory: string;
  readonly target: string;
  readonly dryRun: TestRepository['restore'];
}

/** A target of an ordinary user, in which he has closed a directory to himself. */
async function makeClosed(closed: string): Promise<ClosedTarget> {
  const repository = await makeTestRepository();
  const { directory, source } = repository;
  mkdirSync(join(source, 'sub/inner'), { recursive: true });
  for (const name of ['a', 'sub/b', 'sub/inner/c']) writeFileSync(join(source, name), name);
  await repository.backup();
  const target = join(directory, 'above/target');
  await repository.restore({ target });
  mkdirSync(join(target, 'source/extra/shut'), { recursive: true });
  writeFileSync(join(target, 'source/extra/shut/file'), '');
  giveToNobody(directory);
  const path = join(directory, 'above', closed);
  chmodSync(path, 0);
  onTestFinished(() => chmodSync(path, 0o700));
  const dryRun: TestRepository['restore'] = async (given) =>
    withoutPrivileges(async () => repository.restore({ target, overwrite: 'if-changed', dryRun: true, ...given }));
  return { repository, directory, target, dryRun };
}

it('a dry run says which directory it cannot look into, once, and that the restore can', async () => {
  const { repository, target, dryRun } = await makeClosed('target/source/sub');
  const result = await dryRun();
  expect(result).toMatchObject({ filesUnchanged: 1, filesFailed: 0, directoriesFailed: 1, exitCode: 3 });
  expect(result.problems.map(({ path }) => path)).toEqual(['source/sub']);
  expect(result.problems[0]!.message).toContain('its mode keeps its owner out');
  const deleting = await dryRun({ delete: true });
  expect(deleting.problems.map(({ path }) => path)).toEqual(['source/sub', 'source/sub']);
  expect(deleting).toMatchObject({ deletesFailed: 1, filesDeleted: 1 });
  const done = await withoutPrivileges(async () => repository.restore({ target, delete: true }));
  expect(done).toMatchObject({ problems: [], filesUnchanged: 3, filesDeleted: 1 });
});

it('a dry run says which directory that it would delete it cannot look into', async () => {
  const { repository, target, dryRun } = await makeClosed('target/source/extra/shut');
  const { problems, filesDeleted, deletesFailed } = await dryRun({ delete: true });
  expect([filesDeleted, deletesFailed]).toEqual([0, 1]);
  expect(problems.map(({ path }) => path)).toEqual(['source/extra/shut']);
  expect(problems[0]!.message).toContain('its mode keeps its owner out');
  rmSync(join(target, 'source/a'));
  const done = await withoutPrivileges(async () => repository.restore({ target, delete: true }));
  expect(done).toMatchObject({ problems: [], filesRestored: 1, filesDeleted: 1, directoriesDeleted: 2 });
  mkdirSync(join(target, 'source/extra/shut'), { recursive: true });
});

it.each([
  ['target', 'its mode keeps its owner out'],
  ['.', 'cannot create the target directory'],
])('a dry run fails where it cannot look for the target (%s)', async (closed, message) => {
  const { dryRun } = await makeClosed(closed);
  await expect(dryRun()).rejects.toThrow(message);
});

it('a dry run fails like the restore where something else is in the place of the target or above it', async () => {
  const repository = await makeTestRepository();
  await repository.backup();
  const file = join(repository.directory, 'file');
  writeFileSync(file, '');
  for (const target of [file, join(file, 'a/b')])
    for (const dryRun of [true, false])
      await expect(repository.restore({ target, dryRun })).rejects.toBeInstanceOf(TargetError);
});
