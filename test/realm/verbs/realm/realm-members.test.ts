import { mkdirSync, renameSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';

import { withRepository } from '../../../../src/core/session/session.ts';
import { changeRepositoryPassword } from '../../../../src/verbs/key/keys.ts';
import { joinRealm } from '../../../../src/realm/verbs/realm/join.ts';
import { forgetDomain } from '../../../../src/realm/verbs/realm/forget-domain.ts';
import { leaveRealm } from '../../../../src/realm/verbs/realm/leave.ts';
import { locate } from '../../../../src/realm/verbs/locate/locate.ts';
import type { LocateResult } from '../../../../src/realm/verbs/locate/locate.ts';
import { announcedEndpoint } from '../../../../src/realm/domains/open-peer.ts';
import { withRealm } from '../../../../src/realm/domains/realm.ts';
import { beforeListings } from '../../../support/file-calls.ts';
import { kindsOf, makeSetting } from '../../../support/lending-pair.ts';
import type { Member } from '../../../support/lending-pair.ts';
import { systemError } from '../../../support/system-error.ts';
import { testPassword } from '../../../support/test-password.ts';
import { withAgent } from '../../../support/with-agent.ts';

const ABSENT = 'ab'.repeat(20);

async function look({ context }: Member): Promise<LocateResult> {
  return await locate(context, { target: ABSENT }, () => undefined);
}

describe('a chunk that is not found is not said to be absent', () => {
  test('by a repository that has not joined, or has left', async () => {
    const { holder } = await makeSetting();
    expect(await look(holder)).toMatchObject({ absent: 1, unknown: 0 });
    await leaveRealm(holder.context);
    expect(await look(holder)).toMatchObject({ absent: 0, unknown: 1 });
  });

  test('if the coordinator does not know the own repository: its disk may not be mounted', async () => {
    const { realm, holder } = await makeSetting();
    renameSync(realm.coordinator, `${realm.coordinator}-away`);
    mkdirSync(realm.coordinator);
    expect(await look(holder)).toMatchObject({ absent: 0, unknown: 1 });
  });
});

describe('a domain is not forgotten', () => {
  test('if its repository is locked', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    await withRepository(holder.context, 'exclusive', async () => {
      const forgetting = forgetDomain(owner.context, { named: 'holder', releasesHolds: true });
      await expect(forgetting).rejects.toThrow('the repository of holder still exists at');
    });
    expect(await owner.holds()).toHaveLength(1);
  });

  test('if its repository has another password', async () => {
    const { owner, holder } = await makeSetting('encrypted');
    await changeRepositoryPassword(holder.context, { newPassword: testPassword('of the holder only') });
    // A source of its own: what a source has unlocked is remembered.
    const context = { ...owner.context, password: testPassword('of all members') };
    const forgetting = forgetDomain(context, { named: 'holder' });
    await expect(forgetting).rejects.toThrow('the repository of holder still exists at');
  });
});

test('a member that others have forgotten is told so by its next backup', async () => {
  const { owner, holder, source } = await makeSetting();
  renameSync(holder.place, `${holder.place}-away`);
  await forgetDomain(owner.context, { named: 'holder' });
  renameSync(`${holder.place}-away`, holder.place);
  await holder.backUp(source);
  expect(kindsOf(holder)).toEqual(['plane-not-published']);
});

test('a repository that joins again keeps its name', async () => {
  const { realm, holder } = await makeSetting();
  expect(await joinRealm(holder.context, { coordinator: realm.coordinator })).toMatchObject({ name: 'holder' });
});

test('an agent announces itself again after its repository has left and joined again', async () => {
  const { realm, holder } = await makeSetting();
  const endpoint = async (): Promise<unknown> =>
    withRepository(holder.context, 'read', async (repository) =>
      withRealm(repository, async (open) => announcedEndpoint(open, open.domainId)),
    );
  await withAgent(holder, async () => {
    const before = await endpoint();
    expect(before).toBeDefined();
    await leaveRealm(holder.context);
    await joinRealm(holder.context, { coordinator: realm.coordinator, name: 'holder' });
    await vi.waitFor(async () => expect(await endpoint()).toEqual(before), { timeout: 250_000, interval: 50 });
  });
});

test('a backup asks a coordinator that does not answer only once', async () => {
  const { realm, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  let askedCount = 0;
  beforeListings(realm.coordinator, () => {
    askedCount += 1;
    throw systemError('EIO');
  });
  await holder.backUp(source, { reliesOn: 'owner' });
  expect(kindsOf(holder)).toEqual(['loans-not-verified', 'lender-unreachable', 'plane-not-published']);
  expect(askedCount).toBe(1);
});
