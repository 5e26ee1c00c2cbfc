import { cpSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { CancelledError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { filesOf, letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { writeFiles } from './source-tree.ts';

const NAMES = ['a', 'b/one', 'b/two/x', 'b/two/y', 'b/z', 'c/d/e/f', 'g', 'h/i', 'h/j'];

async function makeSource(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  await letSettle(...writeFiles(repository.source, ...NAMES));
  return repository;
}

/** The walk pauses after each entry, so that it notices a cancellation and records at once. */
const PAUSES = { awaitOutput: async () => Promise.resolve() };

/** Cancels a backup after it has stored `fileCount` files. */
async function cancelAfter(
  { context, source, directory }: TestRepository,
  fileCount: number,
  options: Partial<BackupOptions> = {},
): Promise<void> {
  const cancellation = new AbortController();
  let storedCount = 0;
  const onEntry: BackupOptions['onEntry'] = ({ type }) => {
    if (type === 'file') storedCount += 1;
    if (storedCount >= fileCount) cancellation.abort(new CancelledError('SIGINT'));
  };
  const cancelled = backup(
    { ...context, ...PAUSES, signal: cancellation.signal },
    { sources: [source], cwd: directory, onEntry, ...options },
  );
  await expect(cancelled).rejects.toThrow(CancelledError);
  expect(storedCount).toBe(fileCount);
}

describe('a backup after a cancelled one', () => {
  it.each(NAMES.map((_, index) => index + 1).slice(0, -1))(
    'does not read the %i files again that it had stored',
    async (count) => {
      const repository = await makeSource();
      await cancelAfter(repository, count);
      const { continued, summary } = await repository.backup();
      expect(continued).toMatchObject({ filesCount: count });
      expect(summary).toMatchObject({ filesNew: NAMES.length, filesUnmodified: 0 });
      await repository.expectRestored();
      await repository.expectClean();
      expect(filesOf(repository, 'unfinished')).toEqual([]);
      expect((await repository.backup()).continued).toBeUndefined();
    },
  );

  it('reads again what has changed since, even with the same size and modification time', async () => {
    const repository = await makeSource();
    await cancelAfter(repository, 5);
    const changed = join(repository.source, 'b/one');
    const { atime, mtime } = statSync(changed);
    writeFileSync(changed, readFileSync(changed).reverse());
    utimesSync(changed, atime, mtime);
    const { continued } = await repository.backup();
    expect(continued).toMatchObject({ filesCount: 4 });
    await repository.expectRestored();
  });

  it('counts changes against the last snapshot', async () => {
    const repository = await makeSource();
    const { snapshotId } = await repository.backup();
    await letSettle(...writeFiles(repository.source, 'b/new', 'c/new'));
    writeFileSync(join(repository.source, 'a'), 'changed');
    await letSettle(join(repository.source, 'a'));
    await cancelAfter(repository, 4);
    const { continued, summary, parentId } = await repository.backup();
    expect({ continued, parentId }).toMatchObject({ continued: { filesCount: 2 }, parentId: snapshotId });
    expect(summary).toMatchObject({ filesNew: 2, filesChanged: 1, filesUnmodified: NAMES.length - 1 });
    await repository.expectRestored();
  });

  it('that is cancelled earlier keeps what the first one had stored', async () => {
    const repository = await makeSource();
    await cancelAfter(repository, 6);
    await cancelAfter(repository, 2);
    expect(filesOf(repository, 'unfinished')).toHaveLength(1);
    expect((await repository.backup()).continued).toMatchObject({ filesCount: 6 });
    await repository.expectRestored();
  });

  it.each([
    ['of other paths', { sources: ['source/b'] }],
    ['of another host', { hostname: 'elsewhere' }],
    ['with force', { force: true }],
  ])('%s continues nothing', async (_, options) => {
    const repository = await makeSource();
    await cancelAfter(repository, 5);
    expect((await repository.backup(options)).continued).toBeUndefined();
    await repository.expectClean();
  });

  it('continues nothing, and warns of nothing, if a compaction has reclaimed it', async () => {
    const repository = await makeSource();
    await cancelAfter(repository, 5);
    const { packsRemoved } = await compact(repository.context);
    expect(packsRemoved).toBeGreaterThan(0);
    const { continued } = await repository.backup();
    expect({ continued, notices: repository.notices }).toEqual({ continued: undefined, notices: [] });
    await repository.expectRestored();
    expect(filesOf(repository, 'unfinished')).toEqual([]);
  });

  it('continues nothing if the record is damaged', async () => {
    const repository = await makeSource();
    await cancelAfter(repository, 5);
    const [name] = filesOf(repository, 'unfinished');
    const path = join(repository.directory, 'repository/unfinished', name!);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(path, bytes);
    expect((await repository.backup()).continued).toBeUndefined();
    await repository.expectRestored();
    await repository.expectClean();
  });
});

describe('a killed backup', () => {
  /** Backs up while records are written after each step, and copies the repository when `count` files are stored. */
  async function copyAt(repository: TestRepository, count: number): Promise<TestRepository['context']> {
    const copy = join(repository.directory, 'copy');
    let storedCount = 0;
    const onEntry: BackupOptions['onEntry'] = ({ type }) => {
      if (type === 'file') storedCount += 1;
      if (storedCount === count) cpSync(join(repository.directory, 'repository'), copy, { recursive: true });
    };
    const { source, directory, context } = repository;
    await backup({ ...context, ...PAUSES }, { sources: [source], cwd: directory, onEntry, recordEveryMs: 0 });
    rmSync(join(copy, 'locks'), { recursive: true });
    return { ...context, backend: new LocalBackend(copy) };
  }

  async function again(repository: TestRepository, context: TestRepository['context']): Promise<BackupResult> {
    return await backup(context, { sources: [repository.source], cwd: repository.directory });
  }

  it.each(seedsOf(1, 20))('is continued from its last record (seed %i)', async (seed) => {
    const repository = await makeSource();
    const count = 2 + createPrng(seed).int(NAMES.length - 2);
    const context = await copyAt(repository, count);
    const { continued } = await again(repository, context);
    // The file that was just stored is in no record yet, and records are rare if they take long.
    expect(continued!.filesCount, `seed ${seed}`).toBeGreaterThan(0);
    expect(continued!.filesCount, `seed ${seed}`).toBeLessThan(count);
    const { target } = await restore(context, { selector: 'latest', target: join(repository.directory, 'target') });
    expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
  });
});
