import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { RepositoryLockedError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { createPrng } from '../../support/prng.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const UNTIL = '2999-01-01T00:00:00.000Z';

async function makeTwo(): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (const name of ['a', 'b']) {
    writeFileSync(join(repository.source, name), name.repeat(3000));
    ids.push((await repository.backup()).snapshotId!);
  }
  return { repository, ids };
}

const idsIn = async ({ context }: TestRepository, deleted = false): Promise<string[]> =>
  (await listSnapshots(context, { deleted })).map(({ id }) => id);

it('a delete can be undone until its time, also after compactions', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const given = { selectors: [ids[1]!], undoUntil: UNTIL };
  const { freed, compaction, notReclaimed } = await deleteSnapshots(context, given);
  expect([freed.rawBytes > 3000, compaction, notReclaimed]).toEqual([
    true,
    undefined,
    { error: undefined, until: UNTIL },
  ]);
  expect(await idsIn(repository)).toEqual([ids[0]]);
  await expect(undeleteSnapshots(context, { selectors: [ids[0]!] })).rejects.toMatchObject({
    message: `no id of a deleted snapshot begins with ${ids[0]!}`,
    advice: { code: 'list-deleted-snapshots' },
  });
  const [kept] = await listSnapshots(context, { deleted: true });
  expect(kept!.snapshot).toMatchObject({ deletedUntil: UNTIL, replaces: ids[1] });
  // The old manifest is still there, so the old id comes back.
  const { snapshots } = await undeleteSnapshots(context, { selectors: [ids[1]!.slice(0, 8)] });
  expect(snapshots.map(({ id }) => id)).toEqual([ids[1]]);
  expect([await idsIn(repository), await idsIn(repository, true)]).toEqual([ids, []]);
  await deleteSnapshots(context, given);
  await compact(context, { maxUnusedPercent: 0 });
  expect(filesOf(repository, 'deleted')).toEqual([]);
  const back = (await undeleteSnapshots(context, { selectors: [ids[1]!] })).snapshots[0]!;
  expect(back.snapshot.deletedUntil).toBeUndefined();
  expect(await idsIn(repository)).toEqual([ids[0], back.id]);
  await compact(context, { maxUnusedPercent: 0 });
  await repository.expectRestored(back.id);
  await repository.expectClean();
});

it('a compaction reclaims the space after that time, and not before', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await forgetByPolicy(context, { policy: { counts: { last: 1 } }, undoUntil: until });
  expect([await idsIn(repository), (await idsIn(repository, true)).length]).toEqual([[ids[1]], 1]);
  await compact(context);
  expect(await idsIn(repository, true)).toHaveLength(1);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(until) + 1 });
  try {
    const { deadBytesRemaining } = await compact(context, { maxUnusedPercent: 0 });
    expect(deadBytesRemaining).toBe(0);
  } finally {
    vi.useRealTimers();
  }
  expect(await idsIn(repository, true)).toEqual([]);
  expect([...filesOf(repository, 'snapshots'), ...filesOf(repository, 'manifests.bak')]).toEqual([ids[1], ids[1]]);
  await repository.expectClean();
  await repository.expectRestored();
});

it('a size limit counts the space that is no longer kept, and mentions what is', async () => {
  const repository = await makeTestRepository();
  const { context } = repository;
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const ids: string[] = [];
  for (const seed of [1, 2, 3]) {
    writeFileSync(join(repository.source, 'data'), createPrng(seed).bytes(300_000));
    ids.push((await repository.backup({ time: `2026-01-0${seed}T00:00:00Z` })).snapshotId!);
  }
  await deleteSnapshots(context, { selectors: [ids[0]!], undoUntil: until });
  const { size } = await forgetByPolicy(context, { policy: {}, keepSizeBytes: 1e9, dryRun: true });
  const limited = { policy: {}, keepSizeBytes: size!.beforeBytes - 250_000, dryRun: true };
  expect(removedBy(await forgetByPolicy(context, limited))).toEqual([ids[1]]);
  await expect(forgetByPolicy(context, { ...limited, keepSizeBytes: 1 })).rejects.toThrow(
    /must stay need .*, of which 293\.\d KiB is kept so that deletes can be undone$/,
  );
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(until) + 1 });
  try {
    const result = await forgetByPolicy(context, { ...limited, dryRun: false });
    expect(removedBy(result)).toEqual([]);
    expect(result.compaction!.bytesAfter).toBeLessThan(limited.keepSizeBytes);
    expect(result.compaction!.bytesAfter).toBeLessThan(result.size!.expectedBytes + 20_000);
    await expect(forgetByPolicy(context, { ...limited, keepSizeBytes: 1 })).rejects.toThrow(/need \S+ .iB$/);
  } finally {
    vi.useRealTimers();
  }
  expect(await idsIn(repository)).toEqual(ids.slice(1));
});

it.each(['is still there', 'has been reclaimed'])(
  'two processes that undelete a snapshot at once leave one version of it, if its old manifest %s',
  async (state) => {
    const { repository, ids } = await makeTwo();
    const { context } = repository;
    const { backend } = context;
    const selectors = [ids[1]!];
    await deleteSnapshots(context, { selectors, undoUntil: UNTIL });
    if (state === 'has been reclaimed') await compact(context, { maxUnusedPercent: 0 });
    const rename = backend.rename.bind(backend);
    let other: unknown;
    backend.rename = async (source, target) => {
      if (target.startsWith('snapshots/') && other === undefined) {
        other = 'started';
        other = await undeleteSnapshots({ ...context, lockWaitMs: 0 }, { selectors }).catch((error: unknown) => error);
      }
      return await rename(source, target);
    };
    await undeleteSnapshots(context, { selectors });
    expect(other).toBeInstanceOf(RepositoryLockedError);
    expect([await idsIn(repository), await idsIn(repository, true)]).toEqual([[ids[0], expect.anything()], []]);
    await repository.expectClean();
  },
);

it('a snapshot that was brought back can be deleted and brought back again', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  for (const options of [{ undoUntil: UNTIL }, { reclaim: false }, { undoUntil: UNTIL }]) {
    await deleteSnapshots(context, { selectors: [ids[1]!], ...options });
    expect([await idsIn(repository), (await idsIn(repository, true)).length]).toEqual([[ids[0]], 1]);
    await undeleteSnapshots(context, { selectors: [ids[1]!] });
    expect([await idsIn(repository), await idsIn(repository, true)]).toEqual([ids, []]);
  }
});

function removedBy({ groups }: Awaited<ReturnType<typeof forgetByPolicy>>): string[] {
  return groups.flatMap(({ removed }) => removed.map(({ listing }) => listing.id));
}

it('a delete for a time that was interrupted has not happened, and the next delete removes what it left', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  await deleteSnapshots(context, { selectors: [ids[1]!], undoUntil: UNTIL });
  await context.backend.rename(`deleted/${ids[1]!}`, `snapshots/${ids[1]!}`);
  expect([await idsIn(repository), await idsIn(repository, true)]).toEqual([ids, []]);
  await deleteSnapshots(context, { selectors: [ids[1]!] });
  expect(filesOf(repository, 'snapshots')).toEqual([ids[0]]);
  await repository.expectClean();
});
