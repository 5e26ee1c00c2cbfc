import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { deleteAll, kindsOf, makeSetting } from '../../support/lending-pair.ts';
import type { Member } from '../../support/lending-pair.ts';
import { KINDS } from '../../support/realm.ts';
import { inSoak } from '../../support/soak.ts';

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  missing: (file) => rmSync(file),
  damaged: (file) =>
    writeFileSync(
      file,
      readFileSync(file).map((byte, index) => (index % 9 === 8 ? byte ^ 1 : byte)),
    ),
};
const CASES = inSoak<readonly (readonly [string, (typeof KINDS)[number]])[]>(
  KINDS.flatMap((kind) => Object.keys(DAMAGES).map((damage) => [damage, kind] as const)),
  [
    ['missing', 'plain'],
    ['damaged', 'encrypted'],
  ],
);

function spoil({ place }: Member, damage: string): void {
  DAMAGES[damage]!(join(place, 'realm'));
}

describe.each(CASES)('if the file realm is %s (%s)', (damage, kind) => {
  test('a borrower keeps everything, and joining again gives access to what it has borrowed', async () => {
    const { realm, owner, holder, source } = await makeSetting(kind);
    await holder.backUp(source, { reliesOn: 'owner' });
    spoil(holder, damage);
    expect(await holder.findings()).toContain(`realm-${damage}`);
    await expect(holder.expectRestored(source)).rejects.toThrow(damage === 'missing' ? 'has not joined' : 'realm:');
    const own = realm.files(2, 2);
    await holder.backUp(own);
    await holder.expectRestored(own);
    expect(kindsOf(holder)).toContain('loans-not-verified');
    expect((await holder.backUp(source)).summary.dataAdded).toBe(0);
    await joinRealm(holder.context, { coordinator: realm.coordinator, name: 'holder' });
    await holder.expectRestored(source);
    expect(await holder.findings()).toEqual([]);
    expect(await adopt(holder.context)).toMatchObject({ bytes: 100_000, failed: 0 });
    expect(await owner.holds()).toEqual([]);
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  });

  test('a lender keeps what it holds, and joining again makes it known as before', async () => {
    const { realm, owner, holder, source } = await makeSetting(kind);
    await holder.backUp(source, { reliesOn: 'owner' });
    spoil(owner, damage);
    expect(await owner.findings()).toContain(`realm-${damage}`);
    await deleteAll(owner);
    await holder.expectRestored(source);
    expect(await holder.findings()).toEqual([]);
    const more = realm.files(2, 3);
    await owner.backUp(more);
    await joinRealm(owner.context, { coordinator: realm.coordinator, name: 'owner' });
    expect(await owner.findings()).toEqual([]);
    expect((await holder.backUp(more, { reliesOn: 'owner' })).borrowed.bytes).toBe(40_000);
  });
});
