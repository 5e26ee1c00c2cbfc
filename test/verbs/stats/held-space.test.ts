import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { ALL, deleteAll, makeSetting } from '../../support/lending-pair.ts';
import type { Member } from '../../support/lending-pair.ts';

/** For whom it holds, with the size in units of 10 kB. */
async function held({ context }: Member): Promise<unknown> {
  const { heldFor } = await collectStats(context);
  return heldFor.map(({ name, holdCount, storedBytes }) => [name, holdCount, Math.round(storedBytes! / 10_000)]);
}

test('a lender shows what it keeps for whom, and ends it as a whole', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  const third = await realm.join('third');
  await holder.backUp(source, { reliesOn: 'owner' });
  expect(await held(owner)).toEqual([['holder', 1, 0]]);
  await deleteAll(owner);
  expect(await held(owner)).toEqual([['holder', 1, 10]]);
  // A file that both of them need is in neither of the figures.
  const part = realm.files(0, 4);
  cpSync(join(source, 'file-1'), join(part, 'file-1'));
  await third.backUp(part, { reliesOn: 'owner' });
  expect(await held(owner)).toEqual([
    ['holder', 1, 8],
    ['third', 1, 0],
  ]);
  const [usage] = await measureUsage(owner.context, { asOne: true, filter: { hosts: ['domain:holder'] } });
  const { referencedBytes, onlyHere } = usage!.rows[0]!;
  expect([referencedBytes, onlyHere.storedBytes].map((bytes) => Math.round(bytes / 10_000))).toEqual([10, 8]);
  // The holder needs one file of five, and the lender keeps all.
  const [whole] = await holder.snapshots();
  await holder.backUp(part);
  await deleteSnapshots(holder.context, { selectors: [whole!.id] });
  await compact(holder.context, ALL);
  expect(await held(owner)).toEqual([
    ['holder', 1, 8],
    ['third', 1, 0],
  ]);
  expect(await adopt(holder.context)).toMatchObject({ bytes: 20_000 });
  expect(await held(owner)).toEqual([['third', 1, 2]]);
  expect((await compact(owner.context, ALL)).chunksRemoved).toBeGreaterThan(0);
  await holder.expectRestored(part);
  expect([await owner.findings(), await holder.findings(), await third.findings()]).toEqual([[], [], []]);
});
