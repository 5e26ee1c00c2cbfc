import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { SourceError } from '../../../src/core/errors.ts';
import { writeFiles as write } from './source-tree.ts';
import { recordOpened } from '../../support/file-calls.ts';
import { filesOf, letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { takeThreadsAway } from '../../support/test-threads.ts';
import { giveToNobody, withoutPrivileges } from '../../support/unprivileged.ts';
import { shownNotice } from '../../support/shown-notice.ts';

// What another thread opens is not counted.
beforeEach(() => takeThreadsAway());

const NO_FILES = { kind: 'warning', message: expect.stringContaining('no files') as string };

describe('a backup of nothing', () => {
  it.each([
    ['a directory', 'closed', { closed: 0 }],
    ['a file', 'closed/a', { 'closed/a': 0 }],
    ['a directory whose only file is unreadable', 'closed', { 'closed/a': 0 }],
  ])('that cannot be read fails without a snapshot: %s', async (_, source, modes) => {
    const repository = await makeTestRepository();
    write(repository.directory, 'closed/a');
    giveToNobody(repository.directory);
    for (const [name, mode] of Object.entries(modes)) chmodSync(join(repository.directory, name), mode);
    const backup = withoutPrivileges(async () => repository.backup({ sources: [source] }));
    await expect(backup).rejects.toThrow(SourceError);
    await expect(backup).rejects.toMatchObject({ code: 'SOURCE', message: expect.stringContaining('no snapshot') });
    expect(filesOf(repository, 'snapshots')).toEqual([]);
    expect(repository.notices).toContainEqual(expect.objectContaining({ kind: 'source-problem' }));
    chmodSync(join(repository.directory, 'closed'), 0o700);
    await repository.expectClean();
  });

  it('is saved beside something that can be read, with a problem', async () => {
    const repository = await makeTestRepository();
    write(repository.directory, 'closed/a', 'source/b');
    giveToNobody(repository.directory);
    chmodSync(join(repository.directory, 'closed'), 0);
    const sources = ['closed', 'source'];
    const { snapshotId, problems } = await withoutPrivileges(async () => repository.backup({ sources }));
    chmodSync(join(repository.directory, 'closed'), 0o700);
    expect(snapshotId).toBeDefined();
    expect(problems).toHaveLength(1);
  });

  it.each<[string, Parameters<TestRepository['backup']>[0], boolean]>([
    ['an empty directory', { sources: ['empty'] }, true],
    ['everything excluded', { exclude: ['*'] }, true],
    ['everything excluded, in a dry run', { exclude: ['*'], dryRun: true }, true],
    ['a symlink is something', { sources: ['links'] }, false],
  ])('warns: %s', async (_, options, isWarned) => {
    const repository = await makeTestRepository();
    write(repository.source, 'a');
    for (const name of ['empty', 'links']) mkdirSync(join(repository.directory, name));
    symlinkSync('nowhere', join(repository.directory, 'links', 'l'));
    const { snapshotId } = await repository.backup(options);
    expect(snapshotId === undefined).toBe(options?.dryRun === true);
    expect(repository.notices.map(shownNotice)).toEqual(isWarned ? [NO_FILES] : []);
  });
});

describe('the snapshot that a directory is compared with', () => {
  /** Fills the directories anew, so that they look as if the same disk were mounted again. */
  async function makeTwoRoots(): Promise<TestRepository> {
    const repository = await makeTestRepository();
    await letSettle(...write(repository.directory, 'one/a', 'one/b', 'two/c'));
    return repository;
  }

  const sources = ['one', 'two'];

  it.each([
    ['it was empty', [['*']]],
    ['it was empty several times', [['*'], ['*'], ['*']]],
    ['only one of two was empty', [['one/*']]],
    ['one was empty, and then the other', [['one/*'], ['two/*']]],
    ['one was empty, and then both', [['one/*'], ['*']]],
  ])('is an older one that has content of it where %s', async (_, excludes) => {
    const repository = await makeTwoRoots();
    await repository.backup({ sources });
    for (const exclude of excludes) await repository.backup({ sources, exclude });
    const { summary } = await repository.backup({ sources });
    expect(summary).toMatchObject({ filesNew: 0, filesChanged: 0, filesUnmodified: 3, dataAdded: 0 });
    await repository.expectClean();
  });

  it('is the newest one where files were deleted below the root', async () => {
    const repository = await makeTwoRoots();
    await repository.backup({ sources });
    await repository.backup({ sources, exclude: ['one/b'] });
    const { summary } = await repository.backup({ sources });
    expect(summary).toMatchObject({ filesNew: 1, filesUnmodified: 2 });
  });

  it('is trusted only for files that changed before the older one began', async () => {
    const repository = await makeTwoRoots();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    await repository.backup({ sources });
    vi.useRealTimers();
    await repository.backup({ sources, exclude: ['one/*'] });
    const opened = sources.map((name) => recordOpened(join(repository.directory, name)));
    await repository.backup({ sources });
    const names = opened.flat().map((path) => path.slice(repository.directory.length));
    expect(names.toSorted()).toEqual(['/one/a', '/one/b', '/two/c']);
  });

  it('is not one of the future, unless there is no other', async () => {
    const repository = await makeTwoRoots();
    const { snapshotId: first } = await repository.backup({ sources });
    const { snapshotId: future } = await repository.backup({ sources, time: '2990-01-01T00:00:00Z' });
    const { parentId, snapshotId: third } = await repository.backup({ sources });
    expect(parentId).toBe(first);
    for (const id of [first, third]) rmSync(join(repository.directory, 'repository', 'snapshots', id!));
    expect((await repository.backup({ sources })).parentId).toBe(future);
  });
});
