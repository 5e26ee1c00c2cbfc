import { describe, expect, it } from 'vitest';

import { compact } from '../../../src/core/removing/compact.ts';
import { loseGroup } from '../../../src/verbs/group/group-lost.ts';
import { fill, makeGrouped, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';

const BYTES = 400_000;

async function makeOffline(): Promise<GroupedRepository> {
  const repository = await makeGrouped();
  fill(repository, 'one', 1, BYTES);
  await repository.backup();
  repository.unmount('b');
  return repository;
}

describe('a backup with a group offline', () => {
  it('says how much of the snapshot depends on it', async () => {
    const repository = await makeOffline();
    fill(repository, 'two', 2, 10_000);
    const { offlineBytes, summary } = await repository.backup();
    expect(offlineBytes).toBeGreaterThan(0);
    expect(offlineBytes).toBeLessThan(BYTES);
    expect(summary.dataAdded).toBeLessThan(50_000);
    repository.mount('b');
    expect((await repository.backup()).offlineBytes).toBe(0);
    await repository.expectClean();
  });

  it('stores again what is only there, if told to, so that the snapshot can be restored without it', async () => {
    const repository = await makeOffline();
    const { offlineBytes: known } = await repository.backup({ dryRun: true });
    const { summary, offlineBytes } = await repository.backup({ storesOffline: true });
    expect(offlineBytes).toBe(0);
    expect(summary.dataAdded).toBeGreaterThanOrEqual(known);
    await repository.expectRestored();
    // Once is enough.
    const again = await repository.backup({ storesOffline: true });
    expect(again.summary.dataAdded).toBe(0);
    expect(again.offlineBytes).toBe(0);
    await repository.expectRestored();
  });

  it('leaves chunks in two packs when the group is back, and a compaction reclaims them', async () => {
    const repository = await makeOffline();
    await repository.backup({ storesOffline: true });
    repository.mount('b');
    await repository.expectClean();
    await repository.expectRestored();
    const before = packsAt(repository.place('a')).length + packsAt(repository.place('b')).length;
    const { reclaimedBytes, deadBytesRemaining } = await compact(repository.context, { maxUnusedPercent: 0 });
    expect(reclaimedBytes).toBeGreaterThan(0);
    expect(deadBytesRemaining).toBe(0);
    const after = packsAt(repository.place('a')).length + packsAt(repository.place('b')).length;
    expect(after).toBeLessThan(before);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('makes the group dispensable', async () => {
    const repository = await makeOffline();
    await repository.backup({ storesOffline: true });
    const loss = await loseGroup(repository.context, 'b', { confirmed: true });
    expect(loss.packsLost).toBeGreaterThan(0);
    expect(loss.paths).toEqual([]);
    await repository.expectRestored();
  });
});
