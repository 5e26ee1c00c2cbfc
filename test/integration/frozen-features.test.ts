import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { RefusedError, WrongPasswordError } from '../../src/core/errors.ts';
import { sha256 } from '../../src/core/crypto/sha256.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { drainGroup } from '../../src/core/copies/group-moves.ts';
import { addGroup, listGroups } from '../../src/verbs/group/groups.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { filesOfSnapshot, openStranger, readStoredFiles } from '../core/format/stranger-repository.ts';
import { memoryBucket } from '../support/buckets.ts';
import { FROZEN, frozenNames, readManifest } from '../support/frozen/frozen-repository.ts';
import { expectClean, expectTree, hide, repositoryIn, thaw, treesOf } from '../support/frozen/thaw.ts';
import type { Thawed } from '../support/frozen/thaw.ts';
import { openPlaces, packsAt } from '../support/grouped-repository.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { sealedEpochs } from '../support/sealed-epochs.ts';
import { testPassword } from '../support/test-password.ts';

// What is special about some frozen repositories. What is done with each of them: frozen-repositories.test.ts.

test('an append-only one refuses everything that removes or replaces something', async () => {
  const { context } = await repositoryIn('v1-append-only');
  const before = readStoredFiles(context.backend.location);
  for (const act of [
    async () => deleteSnapshots(context, { selectors: ['latest'], reclaim: false }),
    async () => deleteSnapshots(context, { selectors: ['latest'], undoUntil: '2999-01-01T00:00:00.000Z' }),
    async () => undeleteSnapshots(context, { selectors: ['latest'] }),
    async () => tagSnapshots(context, { selectors: ['latest'], add: ['x'] }),
    async () => compact(context),
    async () => repair(context),
  ])
    await expect(act()).rejects.toMatchObject({ code: 'REFUSED', advice: { code: 'override-append-only' } });
  expect(readStoredFiles(context.backend.location)).toEqual(before);
});

/** Ignores the conditions of requests. */
class UnconditionalStore extends MemoryStore {
  override async put(key: string, bytes: Uint8Array): Promise<void> {
    await super.put(key, bytes);
  }
}

describe('one for a single writer', () => {
  const added = async (thawed: Thawed, bucket: ReturnType<typeof memoryBucket>): Promise<Thawed> => {
    const context = { ...thawed.context, openPlace: openPlaces({ bucket }) };
    await addGroup(context, { name: 'bucket', place: bucket.place });
    return { ...thawed, context };
  };

  test('can get a group where clients cannot exclude each other', async () => {
    const bucket = memoryBucket(new UnconditionalStore());
    const thawed = await added(await repositoryIn('v1-single-writer', 'repository'), bucket);
    expect((await drainGroup(thawed.context, 'disk')).packsMoved).toBeGreaterThan(0);
    expect(packsAt(join(thawed.directory, 'disk'))).toEqual([]);
    await expectClean(thawed);
    for (const [id, tree] of treesOf(thawed)) await expectTree(thawed, id, tree);
  });

  test('is the only one that can', async () => {
    const thawed = await repositoryIn('v1-groups', 'repository');
    const refused = added(thawed, memoryBucket(new UnconditionalStore()));
    await expect(refused).rejects.toMatchObject({ advice: { code: 'use-single-writer-at-init' } });
  });
});

describe('one with groups', () => {
  test('says where they were, and uses none that is elsewhere now', async () => {
    const { context } = thaw('v1-groups')['repository']!;
    const { groups, copies, copiesIfRefs } = await listGroups(context);
    expect({ copies, copiesIfRefs }).toEqual({ copies: 2, copiesIfRefs: { refs: 5, copies: 3 } });
    const entries = groups.map(({ name, place, state, weight, capacityBytes }) => [
      name,
      place,
      state,
      weight,
      capacityBytes,
    ]);
    expect(entries).toEqual([
      ['a', '/tmp/frozen/v1-groups/a', 'active', 1, undefined],
      ['b', '/tmp/frozen/v1-groups/b', 'active', 1, undefined],
      ['old', '/tmp/frozen/v1-groups/old', 'read-only', 1, undefined],
      ['c', '/tmp/frozen/v1-groups/c', 'active', 2.5, 10_000_000],
    ]);
    for (const { offlineReason } of groups) expect(offlineReason).toBeDefined();
    await expect(compact(context)).rejects.toThrow(RefusedError);
  });

  test('has all copies that are wanted, and any group may be missing', async () => {
    const thawed = await repositoryIn('v1-groups', 'repository');
    expect(await listGroups(thawed.context)).toMatchObject({ missingPacks: 0, packsShort: 0, surplusCopies: 0 });
    const copies = ['a', 'b', 'c'].map((name) => packsAt(join(thawed.directory, name)));
    const isMoved = (name: string): boolean => /^[0-9a-f]{64}\.\d+-[0-9a-f]{8}$/.test(name);
    expect(copies.flat().filter(isMoved).length).toBeGreaterThan(0);
    const counts = new Set(
      copies
        .flat()
        .map((name) => name.slice(0, 64))
        .map((id) => copies.flat().filter((name) => name.startsWith(id)).length),
    );
    expect(counts).toEqual(new Set([2, 3]));
    for (const name of ['a', 'b', 'c']) {
      const bringBack = hide(thawed, name);
      await expectClean(thawed);
      if (name === 'c') await expectTree(thawed, ...treesOf(thawed).at(-1)!);
      bringBack();
    }
  });
});

test.each(frozenNames().filter((name) => /encrypted|rotated/.test(name)))(
  'an encrypted one is read as the document of the format says: %s',
  async (name) => {
    const { password, repositories } = readManifest(name);
    const opened = await openStranger(readStoredFiles(join(FROZEN, name)), password!);
    for (const [id, tree] of Object.entries(repositories['.']!.snapshots)) {
      const files = filesOfSnapshot(opened, id);
      expect([...files.keys()].sort()).toEqual(Object.keys(tree).sort());
      for (const [path, { content, mode, mtimeNs }] of Object.entries(tree)) {
        const file = files.get(path)!;
        const found = file.content === undefined ? undefined : sha256(file.content);
        expect([path, found, file.mode.toString(8), String(file.mtimeNs)]).toEqual([path, content, mode, mtimeNs]);
      }
    }
  },
);

test('an encrypted one is opened by each of its passwords', async () => {
  const thawed = await repositoryIn('v1-encrypted');
  const context = { ...thawed.context, password: testPassword('second password') };
  await expectTree({ context }, ...treesOf(thawed).at(-1)!);
});

describe('one with earlier master keys', () => {
  const epochsIn = ({ context }: Thawed): Record<string, number[]> => {
    const disk = new MemoryBackend();
    for (const [file, bytes] of readStoredFiles(context.backend.location)) disk.poke(file, bytes);
    return Object.fromEntries(
      [...sealedEpochs(disk)].map(([name, epochs]) => [name, [...epochs].sort((a, b) => a - b)]),
    );
  };

  test('is opened by the newest password only', async () => {
    const thawed = await repositoryIn('v1-rotated');
    const context = { ...thawed.context, password: testPassword('password of the earlier epoch') };
    await expect(listSnapshots(context)).rejects.toThrow(WrongPasswordError);
    expect(epochsIn(thawed)).toMatchObject({ packs: [1, 2, 3], index: [1, 2, 3], snapshots: [1, 2, 3] });
  });

  test('is sealed again', async () => {
    const thawed = await repositoryIn('v1-rotated');
    const { reseal } = await compact(thawed.context, { reseal: true });
    expect(reseal).toMatchObject({ hasEarlierKeys: true, snapshotsLeft: 2 });
    expect(epochsIn(thawed)).toMatchObject({ packs: [3], index: [3], filter: [3], snapshots: [1, 2, 3] });
    await expectClean(thawed);
    for (const [id, tree] of treesOf(thawed)) await expectTree(thawed, id, tree);
  });
});
