import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, keepGrouped, makeGrouped } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, recover } from '../../support/metadata-in-groups.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// Yesterday's state in the repository's own place, and today's in its groups.

const ALL = { maxUnusedPercent: 0 };

const make = keepGrouped(async () => {
  const grouped = await makeGrouped(['a', 'b'], { copies: 2 });
  fill(grouped, 'one', 1);
  await grouped.backup();
  fill(grouped, 'two', 2);
  await grouped.backup();
  return grouped;
});

async function listed({ context }: GroupedRepository): Promise<string[]> {
  return (await context.backend.list('snapshots')).map(({ name }) => name.slice('snapshots/'.length));
}

/** Keeps the own place, runs `change`, and puts the place back. */
async function rolledBack<T>(grouped: GroupedRepository, change: () => Promise<T>): Promise<T> {
  const yesterday = memoryDirectory();
  cpSync(ownPlace(grouped), yesterday, { recursive: true, preserveTimestamps: true });
  const result = await change();
  rmSync(ownPlace(grouped), { recursive: true });
  cpSync(yesterday, ownPlace(grouped), { recursive: true, preserveTimestamps: true });
  return result;
}

/** A new snapshot needs only chunks that belong to deleted ones in the older state, so it has written no pack of data. */
async function withNewer(grouped: GroupedRepository): Promise<string> {
  const [first, second] = await listed(grouped);
  await deleteSnapshots(grouped.context, { selectors: [first!, second!], reclaim: false });
  return await rolledBack(grouped, async () => (await grouped.backup()).snapshotId!);
}

async function expectRecovered(grouped: GroupedRepository, id: string): Promise<void> {
  for (const name of ['a', 'b']) expect(copiesIn(grouped, name, 'snapshots')).toContain(id);
  await recover(grouped, 'a');
  expect((await check(grouped.context, { selectors: [id], readData: true })).findings).toEqual([]);
}

test.each<[string, (context: OperationContext) => Promise<unknown>]>([
  ['a compaction', async (context) => compact(context, ALL)],
  ['a delete', async (context) => undeleteThenDelete(context)],
  ['a repair', repair],
  ['a rebalance', async (context) => rebalanceGroups(context)],
])('%s removes nothing that a newer snapshot in the groups needs', async (_, act) => {
  const grouped = await make();
  const id = await withNewer(grouped);
  await expect(act(grouped.context)).rejects.toMatchObject({
    code: 'REFUSED',
    message: expect.stringContaining('the groups a, b, which have a snapshot that it lacks') as string,
    advice: { code: 'recover-or-accept-older-state' },
  });
  await expectRecovered(grouped, id);
});

async function undeleteThenDelete(context: OperationContext): Promise<unknown> {
  await undeleteSnapshots(context, { selectors: ['latest'] });
  return await deleteSnapshots(context, { selectors: ['latest'] });
}

// Their commit records have the same numbers as those of the newer state, and others behind them that are equal everywhere.
test.each([1, 2, 3])('so it is after the older state was used for %i other backups', async (count) => {
  const grouped = await make();
  const id = await withNewer(grouped);
  for (let number = 0; number < count; number += 1) {
    fill(grouped, `more-${number}`, 3 + number);
    await grouped.backup();
  }
  await expect(compact(grouped.context, ALL)).rejects.toMatchObject({ code: 'REFUSED' });
  await expectRecovered(grouped, id);
});

test('so it is after a record of the older state that has another size than that of the newer one', async () => {
  const grouped = await make();
  fill(grouped, 'three', 3);
  const id = await rolledBack(grouped, async () => (await grouped.backup()).snapshotId!);
  await rewriteSnapshots(grouped.context, { selectors: await listed(grouped), newHost: 'other' });
  await expect(compact(grouped.context, ALL)).rejects.toMatchObject({ code: 'REFUSED' });
  await expectRecovered(grouped, id);
});

test('what is newer goes if the older state is accepted, and is not missed after that', async () => {
  const grouped = await make();
  const id = await withNewer(grouped);
  await compact({ ...grouped.context, acceptsOlderState: true }, ALL);
  for (const name of ['a', 'b']) expect(copiesIn(grouped, name, 'snapshots')).not.toContain(id);
  fill(grouped, 'three', 3);
  await grouped.backup();
  await compact(grouped.context, ALL);
  expect((await check(grouped.context, { readData: true })).findings).toEqual([]);
});

test('a snapshot that was brought back in the newer state stays so in the groups, whatever the older state adds', async () => {
  const grouped = await make();
  const [id] = await listed(grouped);
  await deleteSnapshots(grouped.context, { selectors: [id!], reclaim: false });
  await rolledBack(grouped, async () => undeleteSnapshots(grouped.context, { selectors: [id!] }));
  fill(grouped, 'three', 3);
  await grouped.backup();
  await expectRecovered(grouped, id!);
});

test('copies that missed how snapshots were reclaimed are not newer', async () => {
  const grouped = await make();
  const [id] = await listed(grouped);
  const stale = memoryDirectory();
  const metadata = join(grouped.place('b'), 'metadata');
  cpSync(metadata, stale, { recursive: true, preserveTimestamps: true });
  await deleteSnapshots(grouped.context, { selectors: [id!] });
  fill(grouped, 'three', 3);
  await grouped.backup();
  rmSync(metadata, { recursive: true });
  cpSync(stale, metadata, { recursive: true, preserveTimestamps: true });
  expect(copiesIn(grouped, 'b', 'snapshots')).toContain(id);
  await compact(grouped.context, ALL);
  expect(copiesIn(grouped, 'b', 'snapshots').toSorted()).toEqual((await listed(grouped)).toSorted());
});
