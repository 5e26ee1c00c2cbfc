import { cpSync, existsSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { placeHold } from '../../../src/realm/lending/holds.ts';
import { runAgent } from '../../../src/realm/verbs/agent/agent.ts';
import { locate } from '../../../src/realm/verbs/locate/locate.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { thisMachine, whyNotOriginal } from '../../../src/realm/domains/own-place.ts';
import { withRealm } from '../../../src/realm/domains/realm.ts';
import { forgetDomain } from '../../../src/realm/verbs/realm/forget-domain.ts';
import { leaveRealm } from '../../../src/realm/verbs/realm/leave.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { ALL, borrowedIds, deleteAll, kindsOf, makeSetting } from '../../support/lending-pair.ts';

describe('a hold', () => {
  test('keeps some of the chunks, and says which', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const ids = await borrowedIds(holder);
    const asked = Buffer.concat([Buffer.alloc(20, 7), ids.subarray(0, 20), Buffer.alloc(20, 8)]);
    const hold = { domainId: 'ab'.repeat(32), name: 'other', holdId: 'cd'.repeat(32), isOpen: true };
    expect([...(await placeHold(owner.context, hold, asked))]).toEqual([0, 1, 0]);
    const holds = await owner.holds();
    expect([...(await placeHold(owner.context, hold, Buffer.alloc(20, 7)))]).toEqual([0]);
    expect(await owner.holds()).toEqual(holds);
  });

  test('is no backup: not the latest, not deleted by rules or by name, not rewritten, not copied', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await owner.expectRestored(source);
    const [hold] = await owner.holds();
    const forgotten = await forgetByPolicy(owner.context, { policy: { counts: { last: 1 } } });
    expect(forgotten.groups.map(({ removed }) => removed.length)).toEqual([0]);
    await expect(deleteSnapshots(owner.context, { selectors: [hold!.id] })).rejects.toThrow(
      'held for the domain holder',
    );
    const rewriting = rewriteSnapshots(owner.context, { selectors: [hold!.id], newHost: 'other' });
    await expect(rewriting).rejects.toThrow('held for the domain holder');
    const copy = { backend: new LocalBackend(join(realm.directory, 'copy')) };
    await initRepository(copy, { encryption: 'never' });
    await copySnapshots(owner.context, { destination: copy });
    const copies = await listSnapshots(copy);
    expect(copies.map(({ snapshot }) => [snapshot.hold, snapshot.hostname])).toEqual([[undefined, hostname()]]);
    // By name, what is held is copied, but nobody relies on the copy.
    const { snapshots } = await copySnapshots(owner.context, { destination: copy, selectors: [hold!.id] });
    expect(snapshots).toHaveLength(1);
    expect((await listSnapshots(copy)).map(({ snapshot }) => snapshot.hold)).toEqual([undefined, undefined]);
  });

  test('ends when a compaction has removed the last pack that needs it, and not before', async () => {
    const { owner, holder, source } = await makeSetting();
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
    await compact(holder.context);
    expect(await owner.holds()).toEqual([]);
    expect(readdirSync(join(holder.place, 'holds'))).toEqual([]);
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

describe('a copy of a repository', () => {
  test('borrows nothing, and ends no hold, where the realm does not know it', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const place = join(realm.directory, 'copy');
    cpSync(holder.place, place, { recursive: true });
    const kinds: string[] = [];
    const onNotice = ({ kind }: { readonly kind: string }): void => void kinds.push(kind);
    const copy = { ...holder.context, backend: new LocalBackend(place), onNotice };
    const more = realm.files(2, 7);
    await owner.backUp(more);
    const { borrowed } = await backup(copy, { sources: [more], cwd: '/', reliesOn: 'owner' });
    expect([borrowed.chunks, kinds]).toEqual([0, ['lender-unreachable']]);
    const selectors = (await listSnapshots(copy)).map(({ id }) => id);
    await deleteSnapshots(copy, { selectors });
    await compact(copy, ALL);
    expect(kinds).toContain('hold-not-released');
    await expect(joinRealm(copy, { coordinator: realm.coordinator, name: 'copy' })).rejects.toThrow('another copy');
    const acts = [
      async () => leaveRealm(copy),
      async () => forgetDomain(copy, { named: 'owner' }),
      async () => runAgent(copy, {}),
    ];
    for (const act of acts) await expect(act()).rejects.toThrow(`the realm knows this repository at ${holder.place}`);
    expect(await locate(copy, { target: 'ab'.repeat(20) }, () => undefined)).toMatchObject({ absent: 0, unknown: 1 });
    await deleteAll(owner);
    await holder.expectRestored(source);
  });

  test('is the original if only the name of the machine or the path has changed', async () => {
    const { owner, holder, source } = await makeSetting();
    // A part of the path of the realm's record may be a file here.
    expect(whyNotOriginal({ name: 'x', ...thisMachine(), place: '/dev/null/x' }, holder.context.backend)).toBeDefined();
    const link = `${holder.place}-link`;
    symlinkSync(holder.place, link);
    await withRepository(holder.context, 'add', async (repository) =>
      withRealm(repository, async ({ records, domainId }) => {
        const { value, version } = (await records.members()).members.get(domainId)!;
        await records.writeMember(domainId, { ...value, host: 'before' }, version);
      }),
    );
    const context = { ...holder.context, backend: new LocalBackend(link) };
    const { borrowed } = await backup(context, { sources: [source], cwd: '/', reliesOn: 'owner' });
    expect([borrowed.bytes, kindsOf(holder)]).toEqual([existsSync('/etc/machine-id') ? 100_000 : 0, []]);
    expect(await owner.holds()).toHaveLength(1);
  });

  test('that is older ends no hold that it does not know, at the same place', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    const old = `${holder.place}-old`;
    cpSync(holder.place, old, { recursive: true });
    await holder.backUp(source, { reliesOn: 'owner' });
    renameSync(holder.place, `${holder.place}-new`);
    renameSync(old, holder.place);
    const more = realm.files(2, 7);
    await owner.backUp(more);
    await holder.backUp(more, { reliesOn: 'owner' });
    expect(await owner.holds()).toHaveLength(2);
    await deleteAll(holder);
    expect(await owner.holds()).toHaveLength(1);
    renameSync(holder.place, old);
    renameSync(`${holder.place}-new`, holder.place);
    await deleteAll(owner);
    await holder.expectRestored(source);
  });

  test('takes over a membership on another machine only if the user says that it was moved', async () => {
    const { realm, holder } = await makeSetting();
    const { coordinator } = realm;
    await withRepository(holder.context, 'add', async (repository) =>
      withRealm(repository, async ({ records, domainId }) => {
        const { value, version } = (await records.members()).members.get(domainId)!;
        await records.writeMember(domainId, { ...value, host: 'elsewhere', machine: '0'.repeat(64) }, version);
      }),
    );
    const joining = joinRealm(holder.context, { coordinator, name: 'holder' });
    await expect(joining).rejects.toMatchObject({ advice: { code: 'say-that-it-moved' } });
    await joinRealm(holder.context, { coordinator, name: 'holder', isMoved: true });
    await joinRealm(holder.context, { coordinator, name: 'holder' });
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
    await expect(forgetDomain(owner.context, { named: 'holder' })).rejects.toThrow('still exists at');
    renameSync(holder.place, `${holder.place}-away`);
    await expect(forgetDomain(owner.context, { named: 'holder' })).rejects.toThrow('keeps chunks');
    expect(await owner.holds()).toHaveLength(1);
    await forgetDomain(owner.context, { named: 'holder', releasesHolds: true });
    expect(await owner.holds()).toEqual([]);
  });

  test('that has forgotten a lender by mistake does not make its holds unknown to the borrower', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    const third = await realm.join('third');
    await holder.backUp(source, { reliesOn: 'owner' });
    renameSync(owner.place, `${owner.place}-away`);
    await forgetDomain(third.context, { named: 'owner' });
    await deleteAll(holder);
    renameSync(`${owner.place}-away`, owner.place);
    await joinRealm(owner.context, { coordinator: realm.coordinator });
    expect(await owner.holds()).toHaveLength(1);
    await compact(holder.context);
    expect(await owner.holds()).toEqual([]);
  });

  test.each(['nobody', 'holder'])('has no domain %s to rely on', async (named) => {
    const { holder, source } = await makeSetting();
    await expect(holder.backUp(source, { reliesOn: named })).rejects.toMatchObject({ code: 'REFUSED' });
    expect(await holder.snapshots()).toEqual([]);
  });
});
