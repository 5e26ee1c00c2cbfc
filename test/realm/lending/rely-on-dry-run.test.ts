import { cpSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { kindsOf, makeSetting } from '../../support/lending-pair.ts';
import type { Member } from '../../support/lending-pair.ts';
import { KINDS } from '../../support/realm.ts';

function filesOf({ place }: Member): string[] {
  return readdirSync(place, { recursive: true, encoding: 'utf8' }).toSorted();
}

describe('a dry run that relies on another domain', () => {
  test.each(KINDS)('counts what a real one would store, and has nothing kept (%s)', async (kind) => {
    const { realm, owner, holder, source } = await makeSetting(kind);
    // Small files are stored in another way.
    await owner.backUp(realm.files(3, 8, 300));
    cpSync(realm.files(2, 2), join(source, 'own'), { recursive: true });
    cpSync(join(realm.directory, 'source-8'), join(source, 'small'), { recursive: true });
    const before = [filesOf(owner), filesOf(holder)];
    const planned = await holder.backUp(source, { reliesOn: 'owner', dryRun: true });
    expect([filesOf(owner), filesOf(holder)]).toEqual(before);
    const done = await holder.backUp(source, { reliesOn: 'owner' });
    expect(done.borrowed.bytes).toBe(100_900);
    expect(planned.borrowed).toEqual(done.borrowed);
    const { dataBlobs, treeBlobs, dataAdded } = done.summary;
    expect(planned.summary).toMatchObject({ dataBlobs, treeBlobs, dataAdded });
    expect(holder.notices).toEqual([]);
    const again = await holder.backUp(source, { reliesOn: 'owner', dryRun: true });
    expect([again.summary.dataAdded, again.borrowed.chunks]).toEqual([0, 0]);
  });

  test('refuses a name that a real one would refuse', async () => {
    const { holder, source } = await makeSetting();
    for (const named of ['ownre', 'holder']) {
      const failures = await Promise.all(
        [true, false].map(async (dryRun) => holder.backUp(source, { reliesOn: named, dryRun }).catch(String)),
      );
      expect(failures[0]).toMatch(/RefusedError/);
      expect(failures[0]).toBe(failures[1]);
    }
  });

  test('counts everything as new if the domain cannot be reached', async () => {
    const { owner, holder, source } = await makeSetting();
    renameSync(owner.place, `${owner.place}-away`);
    const { borrowed, summary } = await holder.backUp(source, { reliesOn: 'owner', dryRun: true });
    expect([borrowed.chunks, kindsOf(holder)]).toEqual([0, ['lender-unreachable']]);
    expect(summary.dataAdded).toBeGreaterThan(100_000);
  });
});
