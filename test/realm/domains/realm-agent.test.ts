import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { openDomainSource } from '../../../src/realm/lending/domain-source.ts';
import { realmStatus } from '../../../src/realm/verbs/realm/status.ts';
import { forgetDomain } from '../../../src/realm/verbs/realm/forget-domain.ts';
import { ALL, kindsOf, liveIdsOf, makeSetting } from '../../support/lending-pair.ts';
import { withAgent } from '../../support/with-agent.ts';

test('chunks are borrowed, read and released through an agent', async () => {
  const { owner, holder, source } = await makeSetting();
  const { requests } = await withAgent(owner, async () => {
    const openPlace = async (): Promise<never> => Promise.reject(new Error('the repository was opened'));
    Object.assign(holder.context, { openPlace });
    const { borrowed } = await holder.backUp(source, { reliesOn: 'owner' });
    expect([borrowed.bytes, (await owner.holds()).length]).toEqual([100_000, 1]);
    await holder.expectRestored(source);
    expect(await holder.findings()).toEqual([]);
    const [only] = await holder.snapshots();
    await deleteSnapshots(holder.context, { selectors: [only!.id] });
    await compact(holder.context, ALL);
    expect(await owner.holds()).toEqual([]);
  });
  expect(requests).toBeGreaterThan(4);
  expect(kindsOf(holder)).toEqual([]);
});

test('a domain whose agent runs is not forgotten', async () => {
  const { owner, holder } = await makeSetting();
  await withAgent(owner, async () => {
    await expect(forgetDomain(holder.context, { named: 'owner' })).rejects.toThrow('the agent of owner is running');
  });
  await expect(forgetDomain(holder.context, { named: 'owner' })).rejects.toThrow('still exists at');
  renameSync(owner.place, `${owner.place}-away`);
  expect(await forgetDomain(holder.context, { named: 'owner' })).toMatchObject({ name: 'owner' });
});

test('a chunk comes from a domain whose plane does not know it yet', async () => {
  const { realm, owner, holder } = await makeSetting();
  const late = realm.files(1, 7);
  renameSync(realm.coordinator, `${realm.coordinator}-away`);
  await owner.backUp(late);
  renameSync(`${realm.coordinator}-away`, realm.coordinator);
  expect(kindsOf(owner)).toEqual(['plane-not-published']);
  await holder.backUp(late);
  const source = await openDomainSource(holder.context);
  let from = 0;
  for (const id of await liveIdsOf(holder)) if ((await source.fetch(id, 'data'))?.from === 'owner') from += 1;
  await source.close();
  expect(from).toBeGreaterThan(10);
});

test('damaged records of a member are written again by its next backup, and do not hide its repository', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  for (const kind of ['state', 'live']) {
    const directory = join(realm.coordinator, kind);
    const { repositoryId } = await check(owner.context);
    mkdirSync(directory, { recursive: true });
    const names = readdirSync(directory).filter((name) => name.startsWith(repositoryId));
    for (const name of names.length > 0 ? names : [`${repositoryId}.1`])
      writeFileSync(join(directory, name), 'damaged');
  }
  expect((await holder.backUp(source, { reliesOn: 'owner' })).borrowed.bytes).toBe(100_000);
  const ownStatus = async (): Promise<boolean> =>
    (await realmStatus(owner.context)).domains.find(({ isSelf }) => isSelf)!.isCurrent;
  expect(await ownStatus()).toBe(true);
  expect([...kindsOf(owner), ...kindsOf(holder)]).toEqual([]);
});
