import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';

async function makeSaved(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'sub', 'deep'), { recursive: true });
  for (const name of ['a', 'sub/b', 'sub/deep/c']) writeFileSync(join(repository.source, name), name);
  await repository.backup();
  return repository;
}

it('restores to the recorded paths', async () => {
  const { context, directory, source } = await makeSaved();
  const before = describeTree(source);
  renameSync(source, join(directory, 'kept'));
  expect(await restore(context, { selector: 'latest', original: true })).toMatchObject({ target: directory });
  expect(diffTrees(before, source)).toEqual([]);
});

it.each([
  ['source/sub', 'source/sub'],
  ['source/sub/deep/c', 'source/sub/deep'],
])('restores %s to where it was', async (place, expected) => {
  const { context, directory, source } = await makeSaved();
  rmSync(join(source, 'sub', 'deep', 'c'));
  const { target } = await restore(context, { selector: `latest:${place}`, original: true });
  expect(target).toBe(join(directory, expected));
  expect(readFileSync(join(source, 'sub', 'deep', 'c'), 'utf8')).toBe('sub/deep/c');
});

it.each([true, false])(
  'says that a target is a file, or below one, and writes nothing (dry run: %s)',
  async (dryRun) => {
    const { context, source } = await makeSaved();
    const file = join(source, 'a');
    const before = describeTree(source);
    const into = async (target: string): Promise<unknown> => restore(context, { selector: 'latest', target, dryRun });
    const advice = { code: 'name-target-directory' };
    await expect(into(file)).rejects.toMatchObject({
      message: `cannot restore to ${file}: it is a file, not a directory`,
      advice,
    });
    await expect(into(join(file, 'x', 'y'))).rejects.toMatchObject({
      message: `cannot restore to ${file}/x/y: ${file} is a file, not a directory`,
      advice,
    });
    await expect(into('/dev/null')).rejects.toThrow('cannot restore to /dev/null: it is not a directory');
    expect(describeTree(source)).toEqual(before);
  },
);

it('refuses options that contradict each other before it reads the repository', async () => {
  const missing = await makeTestRepository();
  rmSync(join(missing.directory, 'repository'), { recursive: true });
  const { context } = missing;
  const restoring = restore(context, { selector: 'latest', target: 'x', original: true });
  await expect(restoring).rejects.toThrow(UsageError);
  await expect(restore(context, { selector: 'latest', overwrite: 'if-newer' })).rejects.toThrow(UsageError);
});

it('leaves owners and groups alone if asked to', async ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const { source, backup, restore: restoreTo } = await makeSaved();
  chownSync(join(source, 'sub', 'b'), 4321, 1234);
  await backup();
  const ownerOf = (target: string): number[] => {
    const { uid, gid } = lstatSync(join(target, 'source', 'sub', 'b'));
    return [uid, gid];
  };
  expect(ownerOf((await restoreTo()).target)).toEqual([4321, 1234]);
  expect(ownerOf((await restoreTo({ owner: false })).target)).toEqual([process.getuid!(), process.getgid!()]);
});

it.each([
  ['if-changed', 0o640],
  ['never', 0o777],
] as const)('--overwrite %s gives a file with the same content the mode %o', async (overwrite, expected) => {
  const { source, backup, restore: restoreTo } = await makeSaved();
  chmodSync(join(source, 'a'), 0o640);
  if (isRoot) chownSync(join(source, 'a'), 4321, 1234);
  await backup();
  const { target } = await restoreTo();
  const file = join(target, 'source', 'a');
  const { ino, uid, gid } = lstatSync(file);
  if (isRoot) chownSync(file, 1, 1);
  chmodSync(file, 0o777);
  const result = await restoreTo({ target, overwrite, dryRun: true });
  expect(lstatSync(file).mode & 0o7777).toBe(0o777);
  expect(await restoreTo({ target, overwrite })).toMatchObject({ filesRestored: 0, filesUnchanged: 3, problems: [] });
  expect(result).toMatchObject({ filesRestored: 0, filesUnchanged: 3, problems: [] });
  const stats = lstatSync(file);
  expect(stats.mode & 0o7777).toBe(expected);
  if (overwrite === 'if-changed') expect(stats).toMatchObject({ ino, uid, gid });
});
