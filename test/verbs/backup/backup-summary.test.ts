import { renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { CancelledError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { createPrng } from '../../support/prng.ts';
import { SMALL_SIZES } from '../../support/simulated-process.ts';
import { makeTestRepository, TINY_CHUNKS } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { writeFiles } from './source-tree.ts';

describe('what a backup says was removed', () => {
  it('is what the parent snapshot has and this one does not', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    writeFiles(source, 'a', 'b', 'sub/c', 'sub/deep/d', 'becomes-file/e', 'f');
    expect((await repository.backup()).removed).toEqual({ files: 0, directories: 0 });
    unlinkSync(join(source, 'a'));
    for (const name of ['sub', 'becomes-file', 'f']) rmSync(join(source, name), { recursive: true });
    writeFileSync(join(source, 'becomes-file'), '');
    writeFiles(source, 'f/g');
    const { removed, summary } = await repository.backup();
    // Files: a, sub/c, sub/deep/d, becomes-file/e, f. Directories: sub, sub/deep, becomes-file.
    expect(removed).toEqual({ files: 5, directories: 3 });
    expect(summary).toMatchObject({ filesNew: 2, filesUnmodified: 1, dirsNew: 1, dirsChanged: 1 });
  });
});

describe('what a backup says was moved', () => {
  it('are new files with the content of removed ones, each of which counts once', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const { source } = repository;
    writeFiles(source, 'a', 'sub/c', 'sub/deep/d', 'same', 'gone', 'empty');
    writeFileSync(join(source, 'large'), createPrng(3).bytes(50_000));
    writeFileSync(join(source, 'empty'), '');
    expect((await repository.backup()).filesMoved).toBe(0);
    renameSync(join(source, 'a'), join(source, 'z'));
    renameSync(join(source, 'sub'), join(source, 'other'));
    renameSync(join(source, 'large'), join(source, 'other/large'));
    renameSync(join(source, 'empty'), join(source, 'void'));
    unlinkSync(join(source, 'gone'));
    for (const name of ['copy-1', 'copy-2']) writeFileSync(join(source, name), 'content of gone');
    writeFileSync(join(source, 'copy-of-same'), 'content of same');
    const { removed, filesMoved, summary } = await repository.backup();
    // Moved: z, other/c, other/deep/d, other/large, and one copy of gone. New: also the other copies, and void.
    expect(filesMoved).toBe(5);
    expect([summary.filesNew, removed!.files]).toEqual([8, 6]);
    expect((await repository.backup()).filesMoved).toBe(0);
  });
});

describe('what a backup says was reused', () => {
  it('is nothing where every chunk is of a snapshot', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'a', 'b');
    expect((await repository.backup()).reused).toEqual({ chunkCount: 0, bytes: 0 });
    expect((await repository.backup()).reused).toEqual({ chunkCount: 0, bytes: 0 });
  });

  it('are the chunks of a deleted snapshot, each once', async () => {
    const repository = await makeTestRepository();
    writeFiles(repository.source, 'a');
    writeFileSync(join(repository.source, 'same-as-a'), 'content of a');
    const { snapshotId, summary } = await repository.backup();
    await deleteSnapshots(repository.context, { selectors: [snapshotId!], reclaim: false });
    const { reused } = await repository.backup();
    expect(reused).toEqual({ chunkCount: summary.dataBlobs + summary.treeBlobs, bytes: summary.dataAdded });
  });

  it('are the chunks that an interrupted backup stored', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    for (const name of ['a', 'b']) writeFileSync(join(repository.source, name), createPrng(name.length).bytes(200_000));
    await expect(interruptedBackup(repository)).rejects.toThrow(CancelledError);
    const { reused, summary } = await repository.backup();
    expect(reused.bytes).toBeGreaterThan(0);
    expect(reused.bytes + summary.dataAdded).toBeGreaterThanOrEqual(200_000);
  });
});

/** A backup that is interrupted when its first file is stored. */
async function interruptedBackup({ context, source }: TestRepository): Promise<unknown> {
  const interruption = new AbortController();
  const progress = createProgress();
  Object.defineProperty(progress, 'filesDone', {
    get: () => 0,
    set: () => {
      interruption.abort(new CancelledError('SIGINT'));
    },
  });
  const interrupted = { ...context, progress, signal: interruption.signal, storeSizes: SMALL_SIZES };
  return await backup(interrupted, { sources: [source], cwd: '/' });
}
