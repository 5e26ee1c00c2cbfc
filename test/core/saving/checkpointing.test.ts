import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { compareStates } from '../../../src/core/damage/state-comparison.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { createPrng } from '../../support/prng.ts';
import { SuspendedBackend } from '../../support/suspended-backend.ts';
import { filesOf, makeTestRepository, TINY_CHUNKS } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { shownNotice } from '../../support/shown-notice.ts';

/** Fails unless the newest checkpoint is what counting everything gives, with this many snapshots. */
async function expectExactCheckpoint(repository: TestRepository, snapshotCount: number): Promise<void> {
  await withRepository(repository.context, 'shared', async (opened) => {
    const recounted = await opened.openState({ ignoreCheckpoints: true });
    const [newest] = recounted.listing.checkpoints;
    const loaded = await opened.openState({ onlyCheckpoint: newest! });
    expect(loaded.checkpoint).toBe(newest);
    expect(loaded.foldedCount).toBe(0);
    expect(loaded.state.snapshots.size).toBe(snapshotCount);
    expect(compareStates(loaded.state, recounted.state)).toEqual({ count: 0, shown: [] });
    expect([...loaded.state.segments].toSorted()).toEqual([...recounted.state.segments].toSorted());
  });
}

function writeFiles(repository: TestRepository, names: readonly string[], seed: number): void {
  const prng = createPrng(seed);
  for (const name of names) {
    mkdirSync(join(repository.source, name, '..'), { recursive: true });
    writeFileSync(join(repository.source, name), prng.bytes(5000));
  }
}

describe('the checkpoint that a backup writes', () => {
  it('counts what the backup stored and what it found', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFiles(repository, ['a/1', 'a/2', 'b/1'], 1);
    await repository.backup();
    await expectExactCheckpoint(repository, 1);
    writeFiles(repository, ['a/2', 'c/1', 'c/2'], 2);
    writeFileSync(join(repository.source, 'c/same'), readFileSync(join(repository.source, 'a/1')));
    rmSync(join(repository.source, 'b'), { recursive: true });
    await repository.backup();
    await expectExactCheckpoint(repository, 2);
  });

  it('counts chunks that were stored for no snapshot', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFiles(repository, ['a/1', 'a/2'], 3);
    const { snapshotId } = await repository.backup();
    await deleteSnapshots(repository.context, { selectors: [snapshotId!] });
    writeFiles(repository, ['b/1', 'b/2'], 4);
    await repository.backup();
    await expectExactCheckpoint(repository, 1);
  });

  it('counts what other processes saved and deleted meanwhile', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFiles(repository, ['a/1', 'a/2'], 5);
    const { snapshotId } = await repository.backup();
    writeFiles(repository, ['b/1', 'b/2', 'b/3'], 6);
    const meanwhile = async (): Promise<void> => {
      writeFiles(repository, ['c/1'], 7);
      await repository.backup({ sources: [join(repository.source, 'b'), join(repository.source, 'c')] });
      await deleteSnapshots(repository.context, { selectors: [snapshotId!] });
    };
    // After the commit, and before the checkpoint.
    const isCopying = (_: number, step: string): boolean => / -> manifests\.bak\//.test(step);
    await repository.backup({}, { backend: new SuspendedBackend(repository.context.backend, isCopying, meanwhile) });
    await expectExactCheckpoint(repository, 2);
    await repository.expectClean();
  });

  it('counts chunks that were stored again because they could not be read', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFiles(repository, ['a/1', 'a/2'], 8);
    await repository.backup();
    for (const id of filesOf(repository, 'packs')) {
      const path = join(repository.directory, 'repository', 'packs', id.slice(0, 2), id);
      const bytes = readFileSync(path);
      // The kind of a pack is in its header; 2 means trees.
      if (bytes[12] !== 2) continue;
      bytes[100]! ^= 1;
      writeFileSync(path, bytes);
    }
    const { summary } = await repository.backup();
    expect(summary.treeBlobs).toBeGreaterThan(1);
    expect(repository.notices.map((notice) => shownNotice(notice).message).join('\n')).toContain('cannot be read');
    await expectExactCheckpoint(repository, 2);
  });
});
