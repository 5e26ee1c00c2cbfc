import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { packName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { forgetDomain } from '../../../src/realm/verbs/realm/forget-domain.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { ALL, makeSetting } from '../../support/lending-pair.ts';
import type { Member, Setting } from '../../support/lending-pair.ts';

/** The pack with the list of the chunks that a member holds. */
async function packOfHold(member: Member): Promise<string> {
  const [hold] = await member.holds();
  const id = await withRepository(member.context, 'read', async (repository) => {
    const { filter, packs } = (await repository.openState()).state;
    return packs.get(filter.packIndexOf(filter.find(Buffer.from(hold!.snapshot.tree, 'hex'), 0))).id;
  });
  return join(member.place, packName(id));
}

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  missing: (file) => rmSync(file),
  damaged: (file) =>
    writeFileSync(
      file,
      readFileSync(file).map((byte, index) => (index < 200 ? byte ^ 1 : byte)),
    ),
};

/** A lender that has deleted its own snapshot, and whose list of what it holds is damaged. */
async function makeDamaged(damage: string): Promise<Setting> {
  const setting = await makeSetting();
  const { owner, holder, source } = setting;
  await holder.backUp(source, { reliesOn: 'owner' });
  const [own] = await owner.snapshots();
  await deleteSnapshots(owner.context, { selectors: [own!.id], reclaim: false });
  DAMAGES[damage]!(await packOfHold(owner));
  return setting;
}

describe.each(Object.keys(DAMAGES))('if the list of a hold is %s', (damage) => {
  test('check names the domain, nothing is removed, and an adoption there is the way out', async () => {
    const { owner, holder, source } = await makeDamaged(damage);
    expect(await owner.findings()).toContain('hold-damaged');
    const refusal = {
      message: /what is held for the domain holder is not known/,
      advice: { code: 'end-damaged-hold' },
    };
    await expect(compact(owner.context, ALL)).rejects.toMatchObject(refusal);
    const { remaining } = await repair(owner.context);
    expect(remaining).toContainEqual(expect.objectContaining({ kind: 'hold-damaged', name: 'holder' }));
    await expect(compact(owner.context, ALL)).rejects.toMatchObject(refusal);
    expect((await collectStats(owner.context)).heldFor).toMatchObject([{ name: 'holder', storedBytes: undefined }]);
    await holder.expectRestored(source);
    expect(await adopt(holder.context)).toMatchObject({ bytes: 100_000, failed: 0, notReclaimed: undefined });
    expect(await owner.holds()).toEqual([]);
    expect((await compact(owner.context, ALL)).packsRemoved).toBeGreaterThan(0);
    expect([await owner.findings(), await holder.findings()]).toEqual([[], []]);
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  });

  test('and its domain is lost for good, forgetting it is', async () => {
    const { owner, holder } = await makeDamaged(damage);
    renameSync(holder.place, `${holder.place}-away`);
    await expect(compact(owner.context, ALL)).rejects.toMatchObject({ advice: { code: 'end-damaged-hold' } });
    await forgetDomain(owner.context, { named: 'holder', releasesHolds: true });
    expect((await compact(owner.context, ALL)).packsRemoved).toBeGreaterThan(0);
    expect(await owner.findings()).toEqual([]);
  });
});
