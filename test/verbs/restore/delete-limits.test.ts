import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../../support/compare-trees.ts';
import { makeSaved, write } from '../../support/saved-target.ts';
import { mountTmpfs } from '../../support/tmpfs.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';

describe('what restore --delete leaves alone', () => {
  it('is refused where it would delete more than was meant', async () => {
    const { directory, source, context, target } = await makeSaved();
    const before = describeTree(directory);
    for (const options of [
      { selector: 'latest', delete: true },
      { selector: 'latest', delete: true, original: true },
      { selector: 'latest', delete: true, dryRun: true, target: '/' },
      { selector: 'latest', delete: true, dryRun: true, target: '/', exclude: ['x'] },
      { selector: 'latest:source/a', delete: true, target },
      { selector: 'latest:source', delete: true, target: join(directory, 'repository', 'packs'), exclude: ['x'] },
    ]) {
      await expect(restore(context, options), JSON.stringify(options)).rejects.toThrow(UsageError);
      expect(diffTrees(before, directory, { ignore: ['mtimeNs'] })).toEqual([]);
    }
    await restore(context, { selector: 'latest:source', delete: true, target: source });
  });

  it('spares the repository in the target', async () => {
    const { directory, context, restore: restoreTo } = await makeSaved();
    const inside = join(directory, 'outer');
    mkdirSync(join(inside, 'x'), { recursive: true });
    renameSync(join(directory, 'repository'), join(inside, 'x', 'repository'));
    symlinkSync(join(inside, 'x', 'repository'), join(directory, 'repository'));
    writeFileSync(join(inside, 'x', 'y'), '');
    const { problems } = await restoreTo({ selector: 'latest:source', target: inside, delete: true });
    expect(problems.map(({ path }) => path)).toEqual(['x/repository']);
    expect(readdirSync(join(inside, 'x'))).toEqual(['repository']);
    await restore(context, { selector: 'latest', target: join(directory, 'again') });
  });

  it('names what it cannot delete, and does not cross mounts', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const { target, directory, restore: restoreTo } = await makeSaved();
    const mounted = join(target, 'extra', 'mounted');
    write(join(directory, 'precious', 'file'), '');
    mkdirSync(mounted, { recursive: true });
    const isMounted = spawnSync('mount', ['--bind', join(directory, 'precious'), mounted]).status === 0;
    write(join(target, 'extra', 'x'), '');
    write(join(target, 'fixed'), '');
    const isFixed = spawnSync('chattr', ['+i', join(target, 'fixed')]).status === 0;
    skip(!isMounted && !isFixed, 'neither mounts nor file attributes work here');
    try {
      const { problems, deletesFailed, exitCode } = await restoreTo({
        selector: 'latest:source',
        target,
        delete: true,
      });
      const expected = [...(isMounted ? ['extra/mounted'] : []), ...(isFixed ? ['fixed'] : [])];
      expect(problems.map(({ path }) => path).toSorted()).toEqual(expected);
      expect({ deletesFailed, exitCode }).toEqual({ deletesFailed: expected.length, exitCode: 3 });
      expect(existsSync(join(directory, 'precious', 'file'))).toBe(true);
      expect(existsSync(join(target, 'extra', 'x'))).toBe(false);
    } finally {
      if (isMounted) spawnSync('umount', [mounted]);
      if (isFixed) spawnSync('chattr', ['-i', join(target, 'fixed')]);
    }
  });

  it('deletes and replaces nothing in file systems mounted below the target', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const { target, source, restore: restoreTo, backup } = await makeSaved();
    write(join(source, 'empty', 'deeper', 'file'), 'saved');
    write(join(source, 'empty', 'kind', 'file'), 'saved');
    write(join(source, 'empty', 'file'), 'saved');
    await backup();
    const mounted = join(target, 'empty');
    skip(!mountTmpfs(mounted, 2 ** 20), 'no tmpfs can be mounted here, not even by root');
    for (const name of ['gold', 'deeper/gold', 'gold-directory/x', 'file/gold', 'kind'])
      write(join(mounted, name), name);
    write(join(target, 'extra'), 'extra');
    const options = { selector: 'latest:source', target, delete: true };
    const before = describeTree(mounted);
    const dry = await restoreTo({ ...options, dryRun: true });
    expect(dry.problems.map(({ path }) => path).toSorted()).toEqual(['empty', 'empty/file', 'empty/kind']);
    expect(diffTrees(before, mounted)).toEqual([]);
    const { problems, exitCode, deletesFailed, filesDeleted } = await restoreTo(options);
    expect(problems.map(({ path }) => path).toSorted()).toEqual(['empty', 'empty/file', 'empty/kind']);
    expect(problems.find(({ path }) => path === 'empty')?.message).toBe('is a mount point; nothing was deleted in it');
    expect({ exitCode, deletesFailed, filesDeleted }).toEqual({ exitCode: 3, deletesFailed: 1, filesDeleted: 1 });
    expect(readdirSync(mounted).toSorted()).toEqual(['deeper', 'file', 'gold', 'gold-directory', 'kind']);
    expect(readdirSync(join(mounted, 'deeper')).toSorted()).toEqual(['file', 'gold']);
    expect(readFileSync(join(mounted, 'file', 'gold'), 'utf8')).toBe('file/gold');
    expect(readFileSync(join(mounted, 'kind'), 'utf8')).toBe('kind');
  });

  it('does not delete in a directory that was bound to a place in the target', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const { target, directory, restore: restoreTo } = await makeSaved();
    write(join(directory, 'precious', 'file'), '');
    const mounted = join(target, 'sub', 'deep');
    const isMounted = spawnSync('mount', ['--bind', join(directory, 'precious'), mounted]).status === 0;
    skip(!isMounted, 'no directory can be mounted here, not even by root');
    onTestFinished(() => void spawnSync('umount', ['-l', mounted]));
    const { problems } = await restoreTo({ selector: 'latest:source', target, delete: true });
    expect(problems.map(({ path }) => path)).toEqual(['sub/deep']);
    expect(readdirSync(join(directory, 'precious')).toSorted()).toEqual(['c', 'file']);
  });

  it('deletes nothing in directories above the paths of the snapshot', async () => {
    const { source, directory, backup, restore: restoreTo } = await makeSaved();
    const roots = ['sub', 'home/me', 'home/you', 'homes/me'].map((name) => join(source, name));
    for (const root of roots) write(join(root, 'file'), 'saved');
    await backup({ sources: roots });
    const target = join(directory, 'mnt');
    await restoreTo({ target });
    rmSync(join(target, 'homes'), { recursive: true });
    rmSync(join(target, 'home', 'you'), { recursive: true });
    const kept = ['beside', 'home/beside', 'home/other/file', 'homes', 'usr/file'];
    for (const name of [...kept, 'home/you', 'home/me/x', 'sub/x']) write(join(target, name), 'mine');
    const { problems, filesDeleted } = await restoreTo({ target, delete: true });
    expect(problems.map(({ path }) => path)).toEqual(['homes']);
    expect(filesDeleted).toBe(3);
    for (const name of kept) expect(readFileSync(join(target, name), 'utf8')).toBe('mine');
    expect(readdirSync(join(target, 'home')).toSorted()).toEqual(['beside', 'me', 'other', 'you']);
    expect(readdirSync(join(target, 'home', 'me'))).toEqual(['file']);
    expect(readdirSync(join(target, 'sub')).toSorted()).toEqual(['b', 'deep', 'file']);
    write(join(target, 'home', 'me', 'x'), 'mine');
    await restoreTo({ selector: 'latest:home', target: join(target, 'home'), delete: true, exclude: ['*.log'] });
    expect(readdirSync(join(target, 'home')).toSorted()).toEqual(['beside', 'me', 'other', 'you']);
    expect(readdirSync(join(target, 'home', 'me'))).toEqual(['file']);
  });

  it('can make what was saved equal in its place', async () => {
    const { source, directory, restore: restoreTo } = await makeSaved();
    write(join(source, 'extra'), '');
    await restoreTo({ target: directory, delete: true });
    expect(readdirSync(source).toSorted()).toEqual(['a', 'other', 'sub']);
    expect(readdirSync(directory).toSorted()).toEqual(['repository', 'source', 'target']);
  });
});
