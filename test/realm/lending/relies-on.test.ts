import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { borrowedPacksOf } from '../../../src/realm/lending/borrowed-packs.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import { makeSetting, makeTwoLoans } from '../../support/lending-pair.ts';
import type { Member, Setting } from '../../support/lending-pair.ts';
import { KINDS } from '../../support/realm.ts';

/** Two snapshots of a third member: of its own data and the data that the holder borrows, and of its own data only. */
async function backUpThird({ realm, holder, source }: Setting): Promise<Member> {
  const third = await realm.join('third');
  await holder.backUp(source, { reliesOn: 'owner' });
  const mixed = realm.files(2, 5);
  cpSync(source, join(mixed, 'also'), { recursive: true });
  await third.backUp(mixed);
  await third.backUp(realm.files(2, 6));
  return third;
}

/** Of each snapshot, by time. */
async function lenders(member: Member): Promise<(string | undefined)[]> {
  return (await member.snapshots()).map(({ snapshot }) => snapshot.reliesOn?.map(({ name }) => name).join());
}

async function borrowedPackIds({ context }: Member): Promise<string[]> {
  return await withRepository(context, 'read', async (repository) =>
    borrowedPacksOf((await repository.openState()).state).map(({ id }) => id),
  );
}

describe.each(KINDS)('in a realm of %s repositories, a manifest names the lenders of its snapshot', (kind) => {
  test('if that is copied to a repository that borrows', async () => {
    const setting = await makeSetting(kind);
    const { holder, owner } = setting;
    const third = await backUpThird(setting);
    await copySnapshots(third.context, { destination: holder.context });
    expect(await lenders(holder)).toEqual(['owner', 'owner', undefined]);
    // The destination has all trees of these: the copy looks at no chunk.
    const selectors = (await third.snapshots()).map(({ id }) => id);
    await rewriteSnapshots(third.context, { selectors, newHost: 'elsewhere' });
    const { storedBytes } = await copySnapshots(third.context, { destination: holder.context });
    expect(storedBytes).toBe(0);
    expect(await lenders(holder)).toEqual(['owner', 'owner', 'owner', undefined, undefined]);
    expect(await adopt(holder.context, { from: 'owner' })).toMatchObject({ bytes: 100_000, snapshotsChanged: 3 });
    expect(await lenders(holder)).toEqual(Array.from({ length: 5 }));
    renameSync(owner.place, `${owner.place}-away`);
    expect(await holder.findings()).toEqual([]);
  });

  test('if that is rewritten or tagged', async () => {
    const setting = await makeSetting(kind);
    const { realm, holder, source } = setting;
    const own = realm.files(2, 7);
    cpSync(source, join(own, 'borrowed'), { recursive: true });
    const { snapshotId } = await holder.backUp(own, { reliesOn: 'owner' });
    expect(await lenders(holder)).toEqual(['owner']);
    const selectors = [snapshotId!];
    const exclude = async (...exact: string[]): ReturnType<typeof rewriteSnapshots> =>
      rewriteSnapshots(holder.context, { selectors, patterns: { exact } });
    const { rewritten } = await exclude('borrowed');
    expect(rewritten[0]!.snapshot.reliesOn).toBeUndefined();
    await exclude('file-0');
    expect((await lenders(holder)).filter((each) => each === 'owner')).toHaveLength(2);
    await tagSnapshots(holder.context, { selectors, add: ['tagged'] });
    expect((await lenders(holder)).filter((each) => each === 'owner')).toHaveLength(2);
  });
});

test('a rewrite keeps the lenders if a pack of borrowed chunks is damaged', async () => {
  const { realm, holder, source } = await makeSetting();
  const own = realm.files(2, 7);
  cpSync(source, join(own, 'borrowed'), { recursive: true });
  const { snapshotId } = await holder.backUp(own, { reliesOn: 'owner' });
  for (const id of await borrowedPackIds(holder)) rmSync(join(holder.place, 'packs', id.slice(0, 2), id));
  await rewriteSnapshots(holder.context, { selectors: [snapshotId!], patterns: { exact: ['file-0'] } });
  expect(await lenders(holder)).toEqual(['owner', 'owner']);
});

test('a rewrite keeps all lenders if the packs of one of them are missing', async () => {
  const { realm, holder, source, other } = await makeTwoLoans();
  const own = realm.files(2, 7);
  cpSync(source, join(own, 'one'), { recursive: true });
  cpSync(other, join(own, 'two'), { recursive: true });
  const { snapshotId } = await holder.backUp(own);
  const [packId] = await borrowedPackIds(holder);
  rmSync(join(holder.place, 'packs', packId!.slice(0, 2), packId!));
  expect(await borrowedPackIds(holder)).toHaveLength(1);
  await rewriteSnapshots(holder.context, { selectors: [snapshotId!], patterns: { exact: ['file-0'] } });
  expect((await lenders(holder)).slice(2)).toEqual(['owner,third', 'owner,third']);
});
