import { cpSync, renameSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../src/backend/local-backend.ts';
import { compact } from '../../src/operations/compact.ts';
import { copySnapshots } from '../../src/operations/copy.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { forgetByPolicy } from '../../src/operations/forget.ts';
import { initRepository } from '../../src/operations/init.ts';
import { adopt } from '../../src/operations/realm/adopt.ts';
import { placeHold } from '../../src/operations/realm/holds.ts';
import { forgetDomain, leaveRealm } from '../../src/operations/realm/leave.ts';
import { listSnapshots } from '../../src/operations/snapshots.ts';
import { ALL, borrowedIds, kindsOf, makeSetting } from '../support/lending-pair.ts';

describe('a hold', () => {
  test('keeps some of the chunks, and says which', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const ids = await borrowedIds(holder);
    const asked = Buffer.concat([Buffer.alloc(20, 7), ids.subarray(0, 20), Buffer.alloc(20, 8)]);
    const hold = { domainId: 'ab'.repeat(32), name: 'other', holdId: 'cd'.repeat(32) };
    expect([...(await placeHold(owner.context, hold, asked))]).toEqual([0, 1, 0]);
    const holds = await owner.holds();
    expect([...(await placeHold(owner.context, hold, Buffer.alloc(20, 7)))]).toEqual([0]);
    expect(await owner.holds()).toEqual(holds);
  });

  test('is no backup: not the latest, not deleted by rules or by name, not copied', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await owner.expectRestored(source);
    const [hold] = await owner.holds();
    const forgotten = await forgetByPolicy(owner.context, { policy: { counts: { last: 1 } } });
    expect(forgotten.groups.map(({ removed }) => removed.length)).toEqual([0]);
    await expect(deleteSnapshots(owner.context, { selectors: [hold!.id] })).rejects.toThrow(
      'held for the domain holder',
    );
    const copy = { backend: new LocalBackend(join(realm.directory, 'copy')) };
    await initRepository(copy, { encryption: 'never' });
    await copySnapshots(owner.context, { destination: copy });
    const copies = await listSnapshots(copy);
    expect(copies.map(({ snapshot }) => [snapshot.hold, snapshot.hostname])).toEqual([[undefined, hostname()]]);
  });

  test('ends when a compaction has removed the last pack that needs it, and not before', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await holder.backUp(source);
    const [first, second] = await holder.snapshots();
    await deleteSnapshots(holder.context, { selectors: [first!.id] });
    expect(await owner.holds()).toHaveLength(1);
    await deleteSnapshots(holder.context, { selectors: [second!.id], reclaim: false });
    expect(await owner.holds()).toHaveLength(1);
    renameSync(owner.place, `${owner.place}-away`);
    await compact(holder.context, ALL);
    expect(kindsOf(holder)).toEqual(['hold-not-released']);
    renameSync(`${owner.place}-away`, owner.place);
    expect(await owner.holds()).toHaveLength(1);
    // The next one that has something to release takes it along.
    await holder.backUp(realm.files(1, 3));
    await holder.backUp(source, { reliesOn: 'owner' });
    const borrowing = (await holder.snapshots()).at(-1)!;
    await deleteSnapshots(holder.context, { selectors: [borrowing.id] });
    expect(await owner.holds()).toEqual([]);
  });

  test('of a part of a block moves with what is left of it', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const [whole] = await holder.snapshots();
    const part = realm.files(0, 4);
    cpSync(join(source, 'file-1'), join(part, 'file-1'));
    await holder.backUp(part);
    await deleteSnapshots(holder.context, { selectors: [whole!.id] });
    await compact(holder.context, ALL);
    expect((await borrowedIds(holder)).length / 20).toBeLessThan(30);
    await holder.expectRestored(part);
    expect([await owner.findings(), await holder.findings()]).toEqual([[], []]);
    expect(await owner.holds()).toHaveLength(1);
  });
});

describe('the realm', () => {
  test('cannot be left by a domain that relies on another one, or on which one relies', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await expect(leaveRealm(owner.context)).rejects.toThrow('keeps chunks for other domains: holder');
    await expect(leaveRealm(holder.context)).rejects.toThrow('other domains keep chunks');
    await adopt(holder.context);
    await leaveRealm(owner.context);
    await leaveRealm(holder.context);
  });

  test('forgets a domain for which chunks are kept only if these are given up', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await expect(forgetDomain(owner.context, { named: 'holder' })).rejects.toThrow('can be reached');
    renameSync(holder.place, `${holder.place}-away`);
    await expect(forgetDomain(owner.context, { named: 'holder' })).rejects.toThrow('keeps chunks');
    expect(await owner.holds()).toHaveLength(1);
    await forgetDomain(owner.context, { named: 'holder', releasesHolds: true });
    expect(await owner.holds()).toEqual([]);
  });

  test.each(['nobody', 'holder'])('has no domain %s to rely on', async (named) => {
    const { holder, source } = await makeSetting();
    await expect(holder.backUp(source, { reliesOn: named })).rejects.toMatchObject({ code: 'REFUSED' });
    expect(await holder.snapshots()).toEqual([]);
  });
});
