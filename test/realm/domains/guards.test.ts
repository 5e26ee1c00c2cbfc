import { cpSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { readMembership } from '../../../src/realm/domains/membership-file.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { openDomainSource } from '../../../src/realm/lending/domain-source.ts';
import { releaseHolds } from '../../../src/realm/lending/holds.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { forgetDomain } from '../../../src/realm/verbs/realm/forget-domain.ts';
import { Domains } from '../../../src/realm/domains/domains.ts';
import { PlaneWatch } from '../../../src/realm/domains/plane-watch.ts';
import { publish } from '../../../src/realm/verbs/realm/publish-ranges.ts';
import { connectRealm, readRealm } from '../../../src/realm/domains/realm.ts';
import type { OpenRealm } from '../../../src/realm/domains/realm.ts';
import { RepositoryPeer } from '../../../src/realm/domains/repository-peer.ts';
import { realmStatus } from '../../../src/realm/verbs/realm/status.ts';
import { holdKeysOf, kindsOf, liveIdsOf, makeRealm, makeSetting } from '../../support/lending-pair.ts';
import type { Member, TestRealm } from '../../support/lending-pair.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { watching } from '../../support/watched-backend.ts';

// Each of these tests fails without one guard of src/realm.

const ABSENT = Buffer.alloc(20, 0xab);

async function idOf({ context }: Member): Promise<string> {
  return await withRepository(context, 'read', async ({ config }) => config.repositoryId);
}

async function connected({ context }: Member): Promise<OpenRealm> {
  const realm = await connectRealm(await withRepository(context, 'read', async (repository) => readRealm(repository)));
  onTestFinished(async () => realm.coordinator.close());
  return realm;
}

/** Leaves nothing that lists the packs. */
function loseIndex({ place }: Member): void {
  for (const name of readdirSync(join(place, 'index'))) truncateSync(join(place, 'index', name), 20);
  for (const name of readdirSync(join(place, 'filter'))) rmSync(join(place, 'filter', name));
}

/** Calls `before` once, before a record of a kind is written, with the path that it is about to get. */
function beforeWriting({ coordinator }: TestRealm, kind: string, before: (path: string) => void): void {
  let isCalled = false;
  replaceCall('openSync', (openSync) => (path, flags, ...given) => {
    if (!isCalled && flags === 'wx' && String(path).startsWith(`${coordinator}/${kind}/`)) {
      isCalled = true;
      before(String(path).replace(/\.[0-9a-f]+\.tmp$/, ''));
    }
    return openSync(path, flags, ...given);
  });
}

describe('a domain that publishes', () => {
  test('begins again if another process has written the record meanwhile', async () => {
    const { realm, holder, source } = await makeSetting();
    let written: string | undefined;
    beforeWriting(realm, 'state', (path) => writeFileSync((written = path), 'of another process'));
    await holder.backUp(source);
    expect(written).toContain(await idOf(holder));
    const own = (await realmStatus(holder.context)).domains.find(({ isSelf }) => isSelf);
    expect(own).toMatchObject({ isCurrent: true, unpublished: 0 });
    expect(kindsOf(holder)).toEqual([]);
  });

  test('does not publish what it cannot count', async () => {
    const { owner } = await makeSetting();
    loseIndex(owner);
    for (const ranges of [false, true])
      await expect(publish(owner.context, { ranges })).rejects.toThrow('what it has cannot be published');
  });

  test('publishes no ranges of snapshots of which one was deleted meanwhile', async () => {
    const { owner, source } = await makeSetting();
    const { snapshotId } = await owner.backUp(source);
    const progress = createProgress();
    Object.defineProperty(progress, 'phase', {
      set: (phase: string) => {
        const [from, to] = ['snapshots', 'deleted'].map((name) => join(owner.place, name, snapshotId!));
        if (phase === 'reading trees') renameSync(from!, to!);
      },
    });
    const publishing = publish({ ...owner.context, progress }, { ranges: true });
    await expect(publishing).rejects.toThrow('the snapshots have changed meanwhile');
    expect((await publish(owner.context, { ranges: true })).ranges!.files).toBe(5);
  });
});

describe('what is not known to be absent is not said to be', () => {
  test('by a source of chunks of which one domain cannot be reached', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source);
    const chunks = await openDomainSource(holder.context);
    onTestFinished(async () => chunks.close());
    expect(await chunks.fetch(ABSENT, 'data')).toBeUndefined();
    renameSync(owner.place, `${owner.place}-away`);
    await expect(chunks.fetch(ABSENT, 'data')).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
    renameSync(`${owner.place}-away`, owner.place);
    const [id] = await liveIdsOf(owner);
    expect((await chunks.fetch(id!, 'data'))?.from).toBe('owner');
  });

  test('by a domain that is damaged', async () => {
    const { owner } = await makeSetting();
    const ownerId = await idOf(owner);
    const ask = async (): Promise<unknown> => new RepositoryPeer(owner.context, ownerId).ask(ABSENT);
    expect(await ask()).toEqual([undefined]);
    loseIndex(owner);
    await expect(ask()).rejects.toThrow('what it lacks is not known');
  });
});

describe('a borrower', () => {
  test('notes a hold before it is placed, so that it can be ended whatever happens', async () => {
    const { owner, holder, source } = await makeSetting();
    const noted: number[] = [];
    const context = watching(holder, owner, async (operation, name) => {
      if (operation === 'rename' && name.includes('-> snapshots/'))
        noted.push(readdirSync(join(holder.place, 'holds')).length);
    });
    expect((await holder.backUp(source, { reliesOn: 'owner' }, context)).borrowed.bytes).toBe(100_000);
    expect(noted).toEqual([1]);
  });

  test('stores again what its lender has, but no longer keeps for it', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await releaseHolds(owner.context, await idOf(holder), holdKeysOf(holder));
    expect((await holder.backUp(source)).summary.dataAdded).toBe(100_000);
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  });

  test('does not forget a lender while it cannot read what it has borrowed', async () => {
    const { holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    loseIndex(holder);
    await adopt(holder.context).catch((error: unknown) => expect(error).toMatchObject({ code: 'CORRUPT_DATA' }));
    const [snapshot] = await holder.snapshots();
    expect(snapshot!.snapshot.reliesOn).toMatchObject([{ name: 'owner' }]);
  });
});

test('a domain whose repository is in use on a server is not forgotten', async () => {
  const { owner, holder } = await makeSetting();
  const { records } = await connected(owner);
  const id = await idOf(holder);
  const { value, version } = (await records.members()).members.get(id)!;
  expect(await records.writeMember(id, { ...value, place: 'sftp:server:/holder' }, version)).toBe(true);
  const openPlace = async (): Promise<LocalBackend> => new LocalBackend(holder.place);
  const context = { ...owner.context, openPlace, lockWaitMs: 0 };
  await withRepository(holder.context, 'exclusive', async () => {
    await expect(forgetDomain(context, { named: 'holder' })).rejects.toThrow('exists, though it cannot be opened');
  });
  await expect(forgetDomain(context, { named: 'holder' })).rejects.toThrow('can be reached');
});

describe('a domain that joins', () => {
  test.each([0, 1])('does not take a name that another one takes at the same time (member %i)', async (first) => {
    const realm = await makeRealm('plain');
    const members = [await realm.join('one'), await realm.join('two')];
    const [late, early] = first === 0 ? members : members.toReversed();
    const joining = { coordinator: realm.coordinator, name: 'wanted' };
    const joined = join(realm.directory, 'joined');
    cpSync(realm.coordinator, `${joined}-not`, { recursive: true });
    await joinRealm(early!.context, joining);
    renameSync(realm.coordinator, joined);
    renameSync(`${joined}-not`, realm.coordinator);
    beforeWriting(realm, 'members', () => cpSync(joined, realm.coordinator, { recursive: true }));
    await expect(joinRealm(late!.context, joining)).rejects.toThrow('the realm has a domain wanted already');
    const { records } = await connected(early!);
    const names = [...(await records.members()).members.values()].map((member) => member.value.name);
    expect(names.toSorted()).toEqual([late!.name, 'wanted'].toSorted());
    const membership = await withRepository(late!.context, 'read', readMembership);
    expect(membership).toMatchObject({ name: late!.name });
  });
});

test('an agent reads the records once more if they change while it reads them', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { realm, owner } = await makeSetting();
  const states = join(realm.coordinator, 'state');
  let readings = 0;
  const onChange = async (): Promise<void> => {
    readings += 1;
    if (readings > 1) return;
    const [name] = readdirSync(states);
    renameSync(join(states, name!), join(states, name!.replace(/\d+$/, '1000')));
    vi.advanceTimersByTime(60_000);
  };
  const open = await connected(owner);
  const watch = new PlaneWatch(new Domains(owner.context, open), open, { onChange, onTrouble: undefined });
  onTestFinished(async () => watch.stop());
  await watch.start();
  expect(readings).toBe(2);
});
