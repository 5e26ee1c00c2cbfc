import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { openRepositoryForReading } from '../../../src/core/snapshots/open-snapshot.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const SNAPSHOTS = 12;

/** Snapshots that share directories, files and chunks, also within themselves. */
async function makeShared(prng: Prng): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const contents = Array.from({ length: 6 }, () => prng.bytes(prng.int(20_000)));
  for (let number = 0; number < SNAPSHOTS; number += 1) {
    for (let change = 0; change < 4; change += 1) {
      const directory = join(repository.source, `d${prng.int(3)}`, `e${prng.int(3)}`);
      if (prng.int(4) === 0) rmSync(directory, { recursive: true, force: true });
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, `f${prng.int(4)}`), contents[prng.int(contents.length)]!);
    }
    await repository.backup();
  }
  return repository;
}

describe('what deleting a set of snapshots would free', () => {
  it.each(seedsOf(1, 10))('is what a delete says, whatever set was measured before (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const { context } = await makeShared(prng);
    const reader = await openRepositoryForReading(context);
    const sizes = new Set<number>();
    for (let round = 0; round < inSoak(60, 25); round += 1) {
      const chosen = reader.snapshots.filter(() => prng.int(3) > 0);
      const measured = await reader.measureDeletion(chosen);
      if (chosen.length === 0) continue;
      const selectors = chosen.map(({ id }) => id);
      const { freed } = await deleteSnapshots(context, { selectors, dryRun: true });
      expect(measured, `seed ${seed}, round ${round}`).toEqual(freed);
      sizes.add(freed.storedBytes);
    }
    expect(sizes.size).toBeGreaterThan(10);
    expect(await reader.measureDeletion([])).toEqual({ chunkCount: 0, treeCount: 0, rawBytes: 0, storedBytes: 0 });
    await reader.close();
  });

  it('is right for calls at the same time', async () => {
    const { context } = await makeShared(createPrng(1));
    const reader = await openRepositoryForReading(context);
    const sets = Array.from({ length: 8 }, (_, number) => reader.snapshots.slice(number, number + 4));
    const measured = await Promise.all(sets.map(async (set) => reader.measureDeletion(set)));
    for (const [number, set] of sets.entries()) {
      const { freed } = await deleteSnapshots(context, { selectors: set.map(({ id }) => id), dryRun: true });
      expect(measured[number]).toEqual(freed);
    }
    await reader.close();
  });
});

describe('a reader without a lock', () => {
  it('lets a compaction run, and knows whether anything has changed', async () => {
    const repository = await makeShared(createPrng(2));
    const reader = await openRepositoryForReading({ ...repository.context, readsUnlocked: true });
    expect(await reader.isCurrent()).toBe(true);
    await deleteSnapshots(repository.context, { selectors: ['latest'], reclaim: false });
    expect(await reader.isCurrent()).toBe(false);
    await compact(repository.context, { maxUnusedPercent: 0 });
    await reader.close();
    const again = await openRepositoryForReading({ ...repository.context, readsUnlocked: true });
    expect(again.snapshots).toHaveLength(SNAPSHOTS - 1);
    expect(await again.isCurrent()).toBe(true);
    await again.close();
  });
});
