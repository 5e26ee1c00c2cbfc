import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CorruptDataError, RefusedError, SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import type { ForgetResult } from '../../../src/verbs/forget/forget.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots } from '../../../src/verbs/tag/tag.ts';
import { SimulatedCrash, FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeDays(count = 4): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (let day = 1; day <= count; day += 1) {
    writeFileSync(join(repository.source, `day${day}`), 'x'.repeat(1000 * day));
    if (day > 1) rmSync(join(repository.source, `day${day - 1}`));
    ids.push((await repository.backup({ time: `2026-01-0${day}T10:00:00Z`, hostname: 'h' })).snapshotId!);
  }
  return { repository, ids };
}

const idsIn = async ({ context }: TestRepository): Promise<string[]> =>
  (await listSnapshots(context)).map(({ id }) => id);

it('deletes what no rule keeps, and frees what a delete of the same snapshots frees', async () => {
  const { repository, ids } = await makeDays();
  const { context } = repository;
  const removed = ids.slice(0, 2);
  const { freed } = await deleteSnapshots(context, { selectors: removed, dryRun: true });
  const policy = { counts: { last: 2 } };
  const planned = await forgetByPolicy(context, { policy, dryRun: true });
  expect(planned).toMatchObject({ freed, dryRun: true, compaction: undefined });
  expect(await idsIn(repository)).toEqual(ids);
  const { groups, compaction } = await forgetByPolicy(context, { policy });
  expect(groups.map(({ host }) => host)).toEqual(['h']);
  expect(groups[0]!.kept.map(({ listing, reasons }) => [listing.id, reasons])).toEqual([
    [ids[3], ['last snapshot']],
    [ids[2], ['last snapshot']],
  ]);
  expect(groups[0]!.removed.map(({ listing }) => listing.id)).toEqual(removed.toReversed());
  expect(groups[0]!.removed.every(({ onlyHere }) => onlyHere.rawBytes > 1000)).toBe(true);
  expect(compaction?.packsRemoved).toBeGreaterThan(0);
  expect(await idsIn(repository)).toEqual(ids.slice(2));
  await repository.expectClean();
  await repository.expectRestored();
});

it('deletes nothing if the rules keep nothing, or if there are none', async () => {
  const { repository, ids } = await makeDays(2);
  const { context } = repository;
  const nosuch = { policy: { tags: [['nosuch']] } };
  await expect(forgetByPolicy(context, nosuch)).rejects.toThrow(
    /^the rules would delete every snapshot in a group; .*\(h: /,
  );
  await expect(forgetByPolicy(context, { ...nosuch, dryRun: true })).rejects.toThrow(RefusedError);
  await expect(forgetByPolicy(context, { policy: {} })).rejects.toThrow(UsageError);
  await expect(forgetByPolicy(context, { policy: { counts: { last: 0 } } })).rejects.toThrow(UsageError);
  const other = forgetByPolicy(context, { policy: { counts: { last: 1 } }, filter: { hosts: ['other'] } });
  await expect(other).rejects.toThrow(SnapshotNotFoundError);
  // One group that would be empty saves all others.
  await repository.backup({ hostname: 'other', tags: ['kept'] });
  await expect(forgetByPolicy(context, { policy: { tags: [['kept']] } })).rejects.toThrow(RefusedError);
  expect(await idsIn(repository)).toEqual(expect.arrayContaining(ids));
  const { groups } = await forgetByPolicy(context, { ...nosuch, allowEmptyGroup: true, filter: { hosts: ['h'] } });
  expect(groups[0]!.removed).toHaveLength(2);
  expect(await idsIn(repository)).toHaveLength(1);
});

it('keeps what is pinned, whatever the rules say', async () => {
  const { repository, ids } = await makeDays();
  const { context } = repository;
  const { changed } = await pinSnapshots(context, { selectors: [ids[0]!] });
  await pinSnapshots(context, { selectors: [ids[1]!], until: '2020-01-01T00:00:00Z' });
  const { groups } = await forgetByPolicy(context, { policy: { counts: { last: 1 } } });
  expect(groups[0]!.kept.map(({ protection, reasons }) => [protection?.kind, reasons])).toEqual([
    [undefined, ['last snapshot']],
    ['pinned', []],
  ]);
  expect(await idsIn(repository)).toEqual([changed[0]!.new.id, ids[3]]);
  // A pin does not make up for a rule that keeps nothing.
  const nosuch = { policy: { tags: [['nosuch']] } };
  await expect(forgetByPolicy(context, nosuch)).rejects.toThrow(RefusedError);
  await forgetByPolicy(context, { ...nosuch, allowEmptyGroup: true });
  expect(await idsIn(repository)).toEqual([changed[0]!.new.id]);
});

it('refuses to decide while a snapshot cannot be read', async () => {
  const { repository, ids } = await makeDays();
  for (const directory of ['snapshots', 'manifests.bak']) {
    writeFileSync(join(repository.directory, 'repository', directory, ids[1]!), 'damaged');
  }
  const forgetting = forgetByPolicy(repository.context, { policy: { counts: { last: 1 } } });
  await expect(forgetting).rejects.toThrow(CorruptDataError);
  expect(await idsIn(repository)).toHaveLength(3);
});

describe('a snapshot dated in the future', () => {
  it('is named in a warning, and satisfies no rule', async () => {
    const { repository, ids } = await makeDays(2);
    const { snapshotId } = await repository.backup({ hostname: 'h', time: '2100-01-01T00:00:00Z' });
    await forgetByPolicy(repository.context, { policy: { counts: { last: 1 } } });
    expect(repository.notices.filter(({ kind }) => kind === 'dated-in-future')).toHaveLength(1);
    expect((await idsIn(repository)).toSorted()).toEqual([ids[1]!, snapshotId!].toSorted());
  });

  it('does not let a mistyped rule delete all others', async () => {
    const { repository, ids } = await makeDays(2);
    const { snapshotId } = await repository.backup({ hostname: 'h', time: '2100-01-01T00:00:00Z' });
    const mistyped = forgetByPolicy(repository.context, { policy: { tags: [['mistyped']] } });
    await expect(mistyped).rejects.toThrow('would delete every snapshot in a group');
    expect((await idsIn(repository)).toSorted()).toEqual([...ids, snapshotId!].toSorted());
  });

  it('is not the newest one that a limit of the size leaves alone', async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), createPrng(1).bytes(200_000));
    await repository.backup({ time: '2026-01-01T00:00:00Z' });
    rmSync(join(repository.source, 'file'));
    await repository.backup({ time: '2100-01-01T00:00:00Z' });
    const limited = async (keepSizeBytes: number): Promise<ForgetResult> =>
      forgetByPolicy(repository.context, { policy: {}, keepSizeBytes, dryRun: true });
    const { size } = await limited(Number.MAX_SAFE_INTEGER);
    await expect(limited(size!.beforeBytes - 100_000)).rejects.toThrow(RefusedError);
  });
});

it('does not count a snapshot twice whose change was interrupted', async () => {
  const { repository, ids } = await makeDays(3);
  const isDelete = (operation: string, name: string): boolean => operation === 'rename' && name.includes('-> deleted/');
  const faulty = new FaultyBackend(repository.context.backend, { mode: 'crash', failAt: 1, only: isDelete });
  await expect(pinSnapshots(simulatedProcess(faulty), { selectors: [ids[2]!] })).rejects.toThrow(SimulatedCrash);
  faulty.assertFired();
  // Both manifests are there. The old one is not a snapshot of its own, for any command.
  expect(filesOf(repository, 'snapshots')).toHaveLength(4);
  const listed = await listSnapshots(repository.context);
  expect(listed).toHaveLength(3);
  const [pinned] = listed.filter(({ snapshot }) => snapshot.pinned === true);
  const { groups } = await forgetByPolicy(repository.context, { policy: { counts: { last: 2 } } });
  expect(groups[0]!.kept.map(({ listing }) => listing.id)).toEqual([pinned!.id, ids[1]]);
  await repository.expectClean();
  await repository.expectRestored();
});
