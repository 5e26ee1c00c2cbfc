import { lstatSync, lutimesSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import type { RestoredEntry } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const NAMES = ['a', 'b', 'c', 'keep', 'keep.d', 'é'];

function write(path: string, content: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
}

/** Puts something at random places, also in place of what is there. */
function scatter(prng: Prng, root: string, outside: string, count: number): void {
  for (let i = 0; i < count; i += 1) {
    let path = root;
    for (let depth = 1 + prng.int(4); depth > 0; depth -= 1) {
      path = join(path, prng.pick(NAMES));
      const kind = prng.pick(['directory', 'directory', 'directory', 'file', 'link', 'nothing']);
      const existing = lstatSync(path, { throwIfNoEntry: false });
      if (kind === 'directory' && existing?.isDirectory() === true) continue;
      if (existing !== undefined) rmSync(path, { recursive: true });
      if (kind === 'directory') mkdirSync(path);
      else if (kind === 'file') writeFileSync(path, `${prng.int(1e9)}`);
      else if (kind === 'link') symlinkSync(prng.pick([outside, 'a', '..']), path);
      // The times of symlinks are not compared.
      if (kind === 'link') lutimesSync(path, 1000, 1000);
      if (kind !== 'directory') break;
    }
  }
}

it.each(seedsOf(12, 150))('makes any target equal to the snapshot (seed %i)', async (seed) => {
  const repository = await makeTestRepository();
  const prng = createPrng(seed);
  const [target, outside] = ['target', 'outside'].map((name) => join(repository.directory, name));
  for (const name of NAMES) write(join(outside!, name, 'precious'), name);
  scatter(prng, repository.source, outside!, 25);
  await repository.backup();
  await repository.restore({ selector: 'latest:source', target: target! });
  scatter(prng, target!, outside!, 25);
  const before = describeTree(target!);
  const outsideBefore = describeTree(outside!);

  const options = { selector: 'latest:source', target: target!, delete: true };
  const planned: string[] = [];
  const onEntry = ({ path, action }: RestoredEntry): void => void planned.push(`${action} ${path}`);
  const said = await repository.restore({ ...options, dryRun: true, onEntry });
  expect(diffTrees(before, target!)).toEqual([]);
  const dryList = planned.splice(0).toSorted();
  const done = await repository.restore({ ...options, onEntry });
  expect(done.problems).toEqual([]);
  expect(diffTrees(repository.source, target!, { ignoreRoot: true })).toEqual([]);
  expect(diffTrees(outsideBefore, outside!)).toEqual([]);
  expect(planned.toSorted()).toEqual(dryList);
  expect({ ...said, blocksRead: 0, blocksNeeded: 0 }).toEqual({ ...done, blocksRead: 0, blocksNeeded: 0 });
  const again = await repository.restore(options);
  expect(again).toMatchObject({ filesDeleted: 0, directoriesDeleted: 0, filesRestored: 0, othersRestored: 0 });
});

it.each(seedsOf(8, 150))('never removes what the patterns exclude (seed %i)', async (seed) => {
  const repository = await makeTestRepository();
  const prng = createPrng(seed);
  const [target, outside] = ['target', 'outside'].map((name) => join(repository.directory, name));
  write(join(outside!, 'a', 'precious'), '');
  scatter(prng, repository.source, outside!, 25);
  await repository.backup();
  mkdirSync(target!);
  scatter(prng, target!, outside!, 40);
  const isKept = (path: string): boolean => path.split('/').some((name) => name.startsWith('keep'));
  const kept = [...describeTree(target!)].filter(([path]) => isKept(path));
  const { problems } = await repository.restore({
    selector: 'latest:source',
    target: target!,
    delete: true,
    exclude: ['keep*'],
  });
  const after = describeTree(target!);
  expect(new Map([...after].filter(([path]) => isKept(path)))).toEqual(new Map(kept));
  expect(lstatSync(join(outside!, 'a', 'precious')).isFile()).toBe(true);
  if (problems.length > 0) return;
  const snapshot = describeTree(repository.source);
  for (const [path] of after) {
    if (path === '' || isKept(path) || kept.some(([inner]) => inner.startsWith(`${path}/`))) continue;
    expect(snapshot.has(path), path).toBe(true);
  }
});
