import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { MockInstance } from 'vitest';

import * as sourceFiles from '../../../src/core/files/source/source-files.ts';
import { writeFiles as write } from './source-tree.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { takeThreadsAway } from '../../support/test-threads.ts';

let opened: MockInstance<typeof sourceFiles.openSource>;

beforeEach(() => {
  opened = vi.spyOn(sourceFiles, 'openSource');
  // What another thread opens is not counted.
  return takeThreadsAway();
});

async function makeRoots(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  await letSettle(...write(repository.directory, 'x/one/a', 'x/one/sub/b', 'x/two/c', 'three/d'));
  return repository;
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
    opened.mockClear();
    const { summary, removed, parentId } = await repository.backup({ sources });
    const read = opened.mock.calls.map(([path]) => path.slice(repository.directory.length + 1));
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
    opened.mockClear();
    const { parentId, summary } = await repository.backup({ sources: ['x', 'three'] });
    // The snapshot of x/one does not contain x, so x is compared with the older one.
    expect(parentId).not.toBe(snapshotId);
    expect(summary).toMatchObject({ filesNew: 1, filesUnmodified: 4 });
    opened.mockClear();
    expect((await repository.backup({ sources: ['x/one', 'three'] })).summary.filesUnmodified).toBe(4);
    expect(opened).not.toHaveBeenCalled();
  });

  it('even if another root is gone', async () => {
    const repository = await makeRoots();
    await repository.backup({ sources: ['x/one', 'x/two'] });
    renameSync(join(repository.directory, 'x/two'), join(repository.directory, 'away'));
    opened.mockClear();
    const { summary, removed, problems } = await repository.backup({ sources: ['x/one', 'x/two'] });
    expect(opened).not.toHaveBeenCalled();
    expect(problems).toMatchObject([{ during: 'missing' }]);
    expect(summary).toMatchObject({ filesNew: 0, filesUnmodified: 2 });
    expect(removed).toEqual({ files: 0, directories: 0 });
  });

  it('but not with a link of that name in a wider snapshot', async () => {
    const repository = await makeRoots();
    symlinkSync('../three', join(repository.directory, 'x/link'));
    const { snapshotId } = await repository.backup({ sources: ['x/link'] });
    await repository.backup({ sources: ['x'] });
    opened.mockClear();
    expect((await repository.backup({ sources: ['x/link'] })).parentId).toBe(snapshotId);
    expect(opened).not.toHaveBeenCalled();
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
