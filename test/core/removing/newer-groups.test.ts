import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { recoverFromGroups } from '../../../src/verbs/group/group-recover.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { setCopies } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, keepGrouped, makeGrouped } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, recover, rolledBack } from '../../support/metadata-in-groups.ts';

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

/** A new snapshot needs only chunks that belong to deleted ones in the older state, so it has written no pack of data. */
async function withNewer(grouped: GroupedRepository): Promise<string> {
  const [first, second] = await listed(grouped);
  await deleteSnapshots(grouped.context, { selectors: [first!, second!], reclaim: false });
  return await rolledBack(ownPlace(grouped), async () => (await grouped.backup()).snapshotId!);
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
  const id = await rolledBack(ownPlace(grouped), async () => (await grouped.backup()).snapshotId!);
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

test('so it is if the older state is from before there were two copies', async () => {
  const grouped = await makeGrouped(['a', 'b']);
  fill(grouped, 'one', 1);
  await grouped.backup();
  await deleteSnapshots(grouped.context, { selectors: ['latest'], reclaim: false });
  const id = await rolledBack(ownPlace(grouped), async () => {
    await setCopies(grouped.context, { copies: 2 });
    const { snapshotId } = await grouped.backup();
    await rebalanceGroups(grouped.context);
    return snapshotId!;
  });
  await expect(compact(grouped.context, ALL)).rejects.toMatchObject({ code: 'REFUSED' });
  await expectRecovered(grouped, id);
});

test('a snapshot that was brought back in the newer state stays so in the groups, whatever the older state adds', async () => {
  const grouped = await make();
  const [id] = await listed(grouped);
  await deleteSnapshots(grouped.context, { selectors: [id!], reclaim: false });
  await rolledBack(ownPlace(grouped), async () => undeleteSnapshots(grouped.context, { selectors: [id!] }));
  fill(grouped, 'three', 3);
  await grouped.backup();
  await expectRecovered(grouped, id!);
});

/** Both states have a record with the same number and size. */
async function withOtherRecords(grouped: GroupedRepository): Promise<void> {
  await rolledBack(ownPlace(grouped), async () => {
    fill(grouped, 'three', 3);
    await grouped.backup();
  });
  fill(grouped, 'four', 4);
  await grouped.backup();
}

test('the copies of an accepted older state have no commit record of the newer one', async () => {
  const grouped = await make();
  await withOtherRecords(grouped);
  await compact({ ...grouped.context, acceptsOlderState: true });
  await recover(grouped, 'a');
  expect((await check(grouped.context, { readData: true })).findings).toEqual([]);
  await compact(grouped.context);
});

test('a recovery replaces a commit record that an interrupted one of another state has left', async () => {
  const grouped = await make();
  await withOtherRecords(grouped);
  const name = join('index', 'commit-000000000003');
  const other = readFileSync(join(ownPlace(grouped), name));
  const copied = readFileSync(join(grouped.place('a'), 'metadata', name));
  expect(copied.length).toBe(other.length);
  expect(copied).not.toEqual(other);
  await recover(grouped, 'a');
  rmSync(ownPlace(grouped), { recursive: true });
  mkdirSync(join(ownPlace(grouped), 'index'), { recursive: true });
  writeFileSync(join(ownPlace(grouped), name), other);
  await recoverFromGroups(grouped.context, [grouped.place('a')]);
  expect(readFileSync(join(ownPlace(grouped), name))).toEqual(copied);
});

/** The copies in `b` are from before a snapshot was reclaimed. */
async function withOutdated(grouped: GroupedRepository): Promise<string> {
  const [id] = await listed(grouped);
  await rolledBack(join(grouped.place('b'), 'metadata'), async () => {
    await deleteSnapshots(grouped.context, { selectors: [id!] });
    fill(grouped, 'three', 3);
    await grouped.backup();
  });
  expect(copiesIn(grouped, 'b', 'snapshots')).toContain(id);
  return id!;
}

test('copies that missed how snapshots were reclaimed are not newer', async () => {
  const grouped = await make();
  await withOutdated(grouped);
  await compact(grouped.context, ALL);
  expect(copiesIn(grouped, 'b', 'snapshots').toSorted()).toEqual((await listed(grouped)).toSorted());
});

// Few records were replaced, or so many that the numbers do not begin at 1.
test.each<[string, number, (path: string) => void]>([
  ['lost', 0, (path) => rmSync(path)],
  ['damaged', 0, (path) => writeFileSync(path, 'x')],
  ['lost', 3, (path) => rmSync(path)],
  ['damaged', 3, (path) => writeFileSync(path, 'x')],
])(
  'nor are they if the start of the commit records is %s after %i other deletes, so that a repair goes on',
  async (_, count, harm) => {
    const grouped = await make();
    for (let number = 0; number < count; number += 1) {
      fill(grouped, `more-${number}`, 4 + number, 20_000);
      await grouped.backup();
      await deleteSnapshots(grouped.context, { selectors: ['latest'] });
    }
    await withOutdated(grouped);
    harm(join(ownPlace(grouped), 'index', 'commits'));
    await repair(grouped.context);
    await compact(grouped.context, ALL);
    expect(copiesIn(grouped, 'b', 'snapshots').toSorted()).toEqual((await listed(grouped)).toSorted());
    expect((await check(grouped.context, { readData: true })).findings).toEqual([]);
  },
);

test('a newer snapshot shows also if the start of the commit records is damaged', async () => {
  const grouped = await make();
  await deleteSnapshots(grouped.context, { selectors: ['latest'] });
  fill(grouped, 'three', 3);
  const id = await rolledBack(ownPlace(grouped), async () => (await grouped.backup()).snapshotId!);
  writeFileSync(join(ownPlace(grouped), 'index', 'commits'), 'x');
  await expect(repair(grouped.context)).rejects.toMatchObject({ code: 'REFUSED' });
  await expectRecovered(grouped, id);
});
