import { chmodSync, existsSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { textOf } from '../../../src/core/util/byte-string.ts';
import { listPaths, writeFiles as write } from './source-tree.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { kindOfPack } from '../../support/pack-kind.ts';
import { recordOpened } from '../../support/file-calls.ts';
import { filesOf, letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { takeThreadsAway } from '../../support/test-threads.ts';

/** What a restore of the newest snapshot puts under the target. */
async function restoredNames(repository: TestRepository): Promise<string[]> {
  const { target, problems } = await repository.restore();
  expect(problems).toEqual([]);
  return [...describeTree(target).keys()].filter((path) => path !== '').toSorted();
}

describe('the layout of a snapshot', () => {
  it.each<[string, string[], string[]]>([
    ['one directory: its name', ['a/b/c'], ['c', 'c/f', 'c/g']],
    ['a file: its name', ['a/b/c/f'], ['f']],
    [
      'two roots of different depth: from what they have in common',
      ['a/b/c', 'a/d'],
      ['b', 'b/c', 'b/c/f', 'b/c/g', 'd', 'd/h'],
    ],
    ['two roots side by side', ['a/b', 'a/d'], ['b', 'b/c', 'b/c/f', 'b/c/g', 'd', 'd/h']],
    ['a root in a root: the outer one', ['a/b/c', 'a'], ['a', 'a/b', 'a/b/c', 'a/b/c/f', 'a/b/c/g', 'a/d', 'a/d/h']],
    ['the same twice, in two spellings', ['a/d', './a/../a/d/'], ['d', 'd/h']],
    ['a file and the directory beside it', ['a/b/c/f', 'a/d'], ['b', 'b/c', 'b/c/f', 'd', 'd/h']],
  ])('%s', async (_, sources, expected) => {
    const repository = await makeTestRepository();
    write(repository.directory, 'a/b/c/f', 'a/b/c/g', 'a/d/h');
    expect((await repository.backup({ sources })).problems).toEqual([]);
    expect(await restoredNames(repository)).toEqual(expected);
    expect(await listPaths(repository)).toEqual(expected);
  });

  it('takes relative paths, the current directory too, from where one is', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'x/y');
    for (const sources of [['.'], ['../source'], [`${repository.source}/`]]) {
      const { snapshot } = await repository.backup({ sources, cwd: repository.source });
      expect(snapshot.paths).toEqual([repository.source]);
      expect(await restoredNames(repository)).toEqual(['source', 'source/x', 'source/x/y']);
    }
  });

  it('keeps the modes of directories above the roots, and nothing else of them', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'a/b/c/f', 'a/b/other', 'a/d');
    const { snapshot } = await repository.backup({ sources: ['a/b/c', 'a/d'] });
    expect(textOf(snapshot.base)).toBe(join(repository.directory, 'a'));
    expect(await listPaths(repository)).toEqual(['b', 'b/c', 'b/c/f', 'd']);
  });

  it('follows a symlink that is a root, under the name of the link, and no other', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'real/f', 'real/sub/g');
    symlinkSync('sub', join(repository.directory, 'real', 'inner'));
    symlinkSync('real', join(repository.directory, 'link'));
    await repository.backup({ sources: ['link'] });
    expect(await restoredNames(repository)).toEqual(['link', 'link/f', 'link/inner', 'link/sub', 'link/sub/g']);
  });

  it('expands patterns, to what git would call the same', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'src/a.ts', 'src/b.js', 'src/deep/er/c.ts', 'src/.hidden/d.ts');
    await repository.backup({ sources: ['src/**/*.ts'] });
    expect((await listPaths(repository)).filter((path) => path.endsWith('.ts'))).toEqual([
      '.hidden/d.ts',
      'a.ts',
      'deep/er/c.ts',
    ]);
    expect(await listPaths(repository)).not.toContain('b.js');
  });

  it('refuses to be asked for nothing', async () => {
    const repository = await makeTestRepository();
    await expect(repository.backup({ sources: [] })).rejects.toThrow(UsageError);
  });
});

describe('an unchanged file', () => {
  // What another thread opens is not counted.
  beforeEach(() => takeThreadsAway());

  it('is not opened, and a changed one is', async () => {
    const repository = await makeTestRepository();
    const paths = write(repository.source, 'a', 'b', 'sub/c');
    await letSettle(...paths);
    const first = await repository.backup();
    const opened = recordOpened(repository.source);
    const second = await repository.backup();
    expect(opened).toEqual([]);
    expect(second.parentId).toBe(first.snapshotId);
    expect(second.summary).toMatchObject({
      filesNew: 0,
      filesChanged: 0,
      filesUnmodified: 3,
      dataBlobs: 0,
      treeBlobs: 0,
    });
    writeFileSync(paths[1]!, 'other');
    const third = await repository.backup();
    expect(opened).toEqual([paths[1]]);
    expect(third.summary).toMatchObject({ filesNew: 0, filesChanged: 1, filesUnmodified: 2 });
    await repository.expectRestored();
  });

  it('is read with --force, and if only another host has a snapshot of it', async () => {
    const repository = await makeTestRepository();
    await letSettle(...write(repository.source, 'a', 'b'));
    const { snapshotId } = await repository.backup();
    const opened = recordOpened(repository.source);
    for (const options of [{ force: true }, { hostname: 'other' }]) {
      const { parentId } = await repository.backup(options);
      expect(opened.splice(0)).toHaveLength(2);
      expect(parentId).toBe('force' in options ? snapshotId : undefined);
    }
  });

  it('is read when a chunk of it is gone from the repository', async () => {
    const repository = await makeTestRepository();
    await letSettle(...write(repository.source, 'a'));
    await repository.backup();
    const stored = join(repository.directory, 'repository');
    const [key] = existsSync(join(stored, 'keys')) ? filesOf(repository, 'keys') : [];
    const keyFile = key === undefined ? undefined : readFileSync(join(stored, 'keys', key));
    const packs = filesOf(repository, 'packs').map((name) => join(stored, 'packs', name.slice(0, 2), name));
    const lost = packs.filter((path) => kindOfPack(readFileSync(path), keyFile) === 'data');
    expect(lost).toHaveLength(1);
    unlinkSync(lost[0]!);
    const opened = recordOpened(repository.source);
    await repository.backup();
    expect(opened).toHaveLength(1);
    await repository.expectRestored();
  });

  it('that got another mode is read again and keeps its chunks', async () => {
    const repository = await makeTestRepository();
    await letSettle(...write(repository.source, 'a'));
    await repository.backup();
    chmodSync(join(repository.source, 'a'), 0o640);
    const { summary } = await repository.backup();
    expect(summary).toMatchObject({ filesUnmodified: 1, dataBlobs: 0 });
    await repository.expectRestored();
  });
});

describe('a dry run', () => {
  it('says what would be stored and writes nothing', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a', 'b');
    const before = describeTree(join(repository.directory, 'repository'));
    const { snapshotId, summary } = await repository.backup({ dryRun: true });
    expect(snapshotId).toBeUndefined();
    expect(summary).toMatchObject({ filesNew: 2, dataBlobs: 2 });
    const after = describeTree(join(repository.directory, 'repository'));
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(await listSnapshots(repository.context)).toEqual([]);
  });
});

describe('what a snapshot says of itself', () => {
  it('time, host, tags and paths as they were given', async () => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    const { snapshot } = await backup(repository.context, {
      sources: [repository.source],
      cwd: '/',
      time: '2001-02-03T04:05:06Z',
      hostname: 'h\u00f6st',
      tags: ['one', 'two'],
    });
    const [listed] = await listSnapshots(repository.context);
    expect(listed!.snapshot).toEqual(snapshot);
    expect(snapshot).toMatchObject({ time: '2001-02-03T04:05:06.000Z', hostname: 'h\u00f6st', tags: ['one', 'two'] });
    await expect(repository.backup({ time: 'soon' })).rejects.toThrow(UsageError);
  });
});
