import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';

import { deleteSnapshots } from '../../../../src/core/removing/delete.ts';
import { compact } from '../../../../src/core/removing/compact.ts';
import { forgetDomain } from '../../../../src/realm/verbs/realm/forget-domain.ts';
import { joinRealm } from '../../../../src/realm/verbs/realm/join.ts';
import { leaveRealm } from '../../../../src/realm/verbs/realm/leave.ts';
import { parseJsonLines } from '../../../cli/scenario.ts';
import { kindsOf, makeSetting } from '../../../support/lending-pair.ts';
import type { Setting } from '../../../support/lending-pair.ts';
import { keepSmallFiles, putSmallFiles } from '../../../support/mixed-days.ts';
import { runLdmHere } from '../../../support/run-ldm-here.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';

/** The holder needs its hold no longer, but its owner has not been asked to end it. */
async function makeUnneeded(): Promise<Setting> {
  const setting = await makeSetting();
  const { holder, source } = setting;
  const { snapshotId } = await holder.backUp(source, { reliesOn: 'owner' });
  renameSync(setting.owner.place, `${setting.owner.place}-away`);
  await deleteSnapshots(holder.context, { selectors: [snapshotId!] });
  await compact(holder.context, { maxUnusedPercent: 0 });
  holder.notices.length = 0;
  return setting;
}

const bringBack = ({ owner }: Setting): void => renameSync(`${owner.place}-away`, owner.place);

test('ends what is not needed, and names nothing then', async () => {
  const setting = await makeUnneeded();
  bringBack(setting);
  expect((await leaveRealm(setting.holder.context)).holdsKept).toEqual([]);
  expect(await setting.owner.holds()).toEqual([]);
});

test('names the holds that a lender keeps because it cannot be reached, which end there', async () => {
  const setting = await makeUnneeded();
  const { owner, holder } = setting;
  const { holdsKept } = await leaveRealm(holder.context);
  expect(holdsKept).toMatchObject([{ name: 'owner', holds: 1 }]);
  // That "the next compaction tries again" would be wrong.
  expect(kindsOf(holder)).toEqual([]);
  bringBack(setting);
  await compact(holder.context);
  expect(await owner.holds()).toHaveLength(1);
  await forgetDomain(owner.context, { named: 'holder', releasesHolds: true });
  expect(await owner.holds()).toEqual([]);
});

test('names the holds of a lender that the realm has forgotten, which end after both have joined again', async () => {
  const setting = await makeUnneeded();
  const { owner, holder, realm } = setting;
  const { coordinator } = realm;
  await forgetDomain(holder.context, { named: 'owner' });
  const { holdsKept } = await leaveRealm(holder.context);
  expect(holdsKept).toMatchObject([{ name: undefined, holds: 1, reason: 'it is not a member of the realm' }]);
  bringBack(setting);
  await joinRealm(owner.context, { coordinator });
  await joinRealm(holder.context, { coordinator });
  await compact(holder.context);
  expect(await owner.holds()).toEqual([]);
});

test('says what ends the holds', async () => {
  const { holder } = await makeUnneeded();
  const { code, stdout } = await runLdmHere(['-r', holder.place, 'realm', 'leave']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^the domain owner still has 1 hold for this repository: .+\n.*realm forget holder --release/m,
  );
});

test('says it to scripts', async () => {
  const { holder } = await makeUnneeded();
  const { stdout } = await runLdmHere(['-r', holder.place, 'realm', 'leave', '--json']);
  expect(parseJsonLines(stdout).at(-1)).toMatchObject({ change: 'left', holds_kept: [{ name: 'owner', holds: 1 }] });
});

test('ends them with an older state in its place only if that is accepted', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  await holder.backUp(realm.files(1, 9));
  const yesterday = keepSmallFiles(holder.place);
  await holder.backUp(source, { reliesOn: 'owner' });
  putSmallFiles(holder.place, yesterday);
  const leave = ['-r', holder.place, 'realm', 'leave'];
  const newMachine = { env: { XDG_STATE_HOME: memoryDirectory() } };
  const { code, stderr } = await runLdmHere(leave, newMachine);
  expect([code, await owner.holds()]).toMatchObject([1, [{}]]);
  expect(stderr).toMatch(/packs that no snapshot needs stay.*--accept-older-state/s);
  expect(await runLdmHere([...leave, '--accept-older-state'], newMachine)).toMatchObject({ code: 0, stderr: '' });
  expect(await owner.holds()).toEqual([]);
});
