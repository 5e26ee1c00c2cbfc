import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { writeFiles as write } from './source-tree.ts';
import { recordOpened } from '../../support/file-calls.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { takeThreadsAway } from '../../support/test-threads.ts';

// What another thread opens is not counted.
beforeEach(() => takeThreadsAway());

async function makeRoots(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  await letSettle(...write(repository.directory, 'x/one/a', 'x/one/sub/b', 'x/two/c', 'three/d'));
  return repository;
}

/** The files of the roots that are opened from now on. */
function openedIn({ directory }: TestRepository): () => string[] {
  const opened = ['x', 'three'].map((name) => recordOpened(join(directory, name)));
  return () => opened.flat().map((path) => path.slice(directory.length + 1));
}

describe('a root is compared with the newest snapshot that contains it', () => {
  it.each([
    ['fewer paths', [['x/one', 'three']], ['x/one'], { parent: 0, read: [] }],
    ['another common parent', [['x/one', 'x/two']], ['x/one', 'three'], { parent: 0, read: ['three/d'] }],
    ['paths from two snapshots', [['x/one'], ['three']], ['x/one', 'three'], { parent: 1, read: [] }],
    ['directories below an earlier root', [['x']], ['x/one/sub', 'x/two'], { parent: 0, read: [] }],
    ['a file below an earlier root', [['x']], ['x/one/a'], { parent: 0, read: [] }],
    ['another snapshot in between', [['x/one'], ['three']], ['x/one'], { parent: 0, read: [] }],
  ])('and only other files are read: %s', async (_, earlier, sources, expected) => {
    const repository = await makeRoots();
    const ids: (string | undefined)[] = [];
    for (const paths of earlier) ids.push((await repository.backup({ sources: paths })).snapshotId);
    const opened = openedIn(repository);
    const { summary, removed, parentId } = await repository.backup({ sources });
    const read = opened();
    expect({ parent: ids.indexOf(parentId), read }).toEqual(expected);
    expect(summary.filesNew).toBe(read.length);
    expect(removed).toEqual({ files: 0, directories: 0 });
    await repository.expectClean();
  });

  it('and the newer content wins', async () => {
    const repository = await makeRoots();
    await repository.backup({ sources: ['x', 'three'] });
    await letSettle(...write(repository.directory, 'x/one/new'));
    const { snapshotId } = await repository.backup({ sources: ['x/one'] });
    const { parentId, summary } = await repository.backup({ sources: ['x', 'three'] });
    // The snapshot of x/one does not contain x, so x is compared with the older one.
    expect(parentId).not.toBe(snapshotId);
    expect(summary).toMatchObject({ filesNew: 1, filesUnmodified: 4 });
    const opened = openedIn(repository);
    expect((await repository.backup({ sources: ['x/one', 'three'] })).summary.filesUnmodified).toBe(4);
    expect(opened()).toEqual([]);
  });

  it('even if another root is gone', async () => {
    const repository = await makeRoots();
    await repository.backup({ sources: ['x/one', 'x/two'] });
    renameSync(join(repository.directory, 'x/two'), join(repository.directory, 'away'));
    const opened = openedIn(repository);
    const { summary, removed, problems } = await repository.backup({ sources: ['x/one', 'x/two'] });
    expect(opened()).toEqual([]);
    expect(problems).toMatchObject([{ during: 'missing' }]);
    expect(summary).toMatchObject({ filesNew: 0, filesUnmodified: 2 });
    expect(removed).toEqual({ files: 0, directories: 0 });
  });

  it('but not with a link of that name in a wider snapshot', async () => {
    const repository = await makeRoots();
    symlinkSync('../three', join(repository.directory, 'x/link'));
    const { snapshotId } = await repository.backup({ sources: ['x/link'] });
    await repository.backup({ sources: ['x'] });
    const opened = openedIn(repository);
    expect((await repository.backup({ sources: ['x/link'] })).parentId).toBe(snapshotId);
    expect(opened()).toEqual([]);
  });
});

describe('what was removed', () => {
  it('concerns only the roots of this backup', async () => {
    const repository = await makeRoots();
    await repository.backup({ sources: ['x', 'three'] });
    rmSync(join(repository.directory, 'x/one/sub'), { recursive: true });
    unlinkSync(join(repository.directory, 'three/d'));
    const { removed, summary } = await repository.backup({ sources: ['x/one', 'x/two'] });
    expect(removed).toEqual({ files: 1, directories: 1 });
    expect(summary).toMatchObject({ filesUnmodified: 2, dirsNew: 0, dirsChanged: 1, dirsUnmodified: 1 });
  });

  it('includes a root that became a file', async () => {
    const repository = await makeRoots();
    await repository.backup({ sources: ['x/one', 'three'] });
    rmSync(join(repository.directory, 'x/one'), { recursive: true });
    write(repository.directory, 'x/one');
    const { removed } = await repository.backup({ sources: ['x/one', 'three'] });
    expect(removed).toEqual({ files: 2, directories: 2 });
  });

  it('is counted again if the last backup excluded everything', async () => {
    const repository = await makeRoots();
    const { snapshotId } = await repository.backup({ sources: ['x'] });
    for (let i = 0; i < 2; i++) {
      const { removed, parentId } = await repository.backup({ sources: ['x'], exclude: ['*'] });
      expect({ removed, parentId }).toEqual({ removed: { files: 3, directories: 3 }, parentId: snapshotId });
    }
  });

  it('is counted if each root has its own parent', async () => {
    const repository = await makeRoots();
    for (const source of ['x/one', 'x/two']) await repository.backup({ sources: [source] });
    unlinkSync(join(repository.directory, 'x/one/a'));
    const { removed } = await repository.backup({ sources: ['x/one', 'x/two'] });
    expect(removed).toEqual({ files: 1, directories: 0 });
  });
});
