import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { BackendError, RefusedError, UsageError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { drainGroup, rebalanceGroups, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { addGroup, listGroups, setGroupState } from '../../../src/verbs/group/groups.ts';
import { fill, makeGrouped, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { inSoak } from '../../support/soak.ts';

async function makeFilled(names?: readonly string[], bytes = inSoak(400_000, 200_000)): Promise<GroupedRepository> {
  const repository = await makeGrouped(names);
  fill(repository, 'one', 1, bytes);
  await repository.backup();
  return repository;
}

async function expectWhole(repository: GroupedRepository): Promise<void> {
  await repository.expectClean();
  await repository.expectRestored();
}

/** The path of a pack in a group. */
function pathOf(place: string, name: string): string {
  return join(place, 'packs', name.slice(0, 2), name);
}

describe('a drain', () => {
  it('moves everything to the other groups, which the group can leave then', async () => {
    const repository = await makeFilled(['a', 'b', 'c'], inSoak(1_000_000, 400_000));
    const count = packsAt(repository.place('a')).length;
    expect(count).toBeGreaterThan(inSoak(3, 0));
    expect(await drainGroup(repository.context, 'a', { dryRun: true })).toMatchObject({ packsMoved: count });
    expect(packsAt(repository.place('a')).length).toBe(count);
    const moves = await drainGroup(repository.context, 'a');
    expect(moves).toMatchObject({ packsMoved: count, surplusCopies: 0, unmoved: [] });
    expect(packsAt(repository.place('a'))).toEqual([]);
    await expectWhole(repository);
    const { groups, missingPacks, surplusCopies } = await listGroups(repository.context);
    expect(groups[0]).toMatchObject({ name: 'a', state: 'read-only', packCount: 0 });
    expect([missingPacks, surplusCopies]).toEqual([0, 0]);
    await removeGroup(repository.context, 'a');
    expect((await listGroups(repository.context)).groups.map(({ name }) => name)).toEqual(['b', 'c']);
    await expectWhole(repository);
    // Its place can be used again.
    await addGroup(repository.context, { name: 'd', place: repository.place('a') });
    await rebalanceGroups(repository.context);
    expect(packsAt(repository.place('a')).length).toBeGreaterThan(0);
    await expectWhole(repository);
  });

  it('refuses the only group, unknown ones and those that are offline', async () => {
    const repository = await makeFilled(['a']);
    await expect(drainGroup(repository.context, 'a')).rejects.toThrow(RefusedError);
    await expect(drainGroup(repository.context, 'x')).rejects.toThrow(UsageError);
    await addGroup(repository.context, { name: 'b', place: repository.place('b') });
    repository.unmount('a');
    await expect(drainGroup(repository.context, 'a')).rejects.toThrow(/is offline/);
    repository.mount('a');
    await expectWhole(repository);
  });

  it('stops when the others are full, and goes on when there is another group', async () => {
    const repository = await makeFilled(['a']);
    await addGroup(repository.context, { name: 'b', place: repository.place('b'), capacityBytes: 100_000 });
    await expect(drainGroup(repository.context, 'a')).rejects.toMatchObject({ kind: 'full' });
    expect(packsAt(repository.place('b')).length).toBeGreaterThan(0);
    await expectWhole(repository);
    expect((await listGroups(repository.context)).surplusCopies).toBe(0);
    await addGroup(repository.context, { name: 'c', place: repository.place('c') });
    await drainGroup(repository.context, 'a');
    expect(packsAt(repository.place('a'))).toEqual([]);
    await expectWhole(repository);
  });

  it('leaves a damaged pack where it is, and says so', async () => {
    const repository = await makeFilled();
    const [name] = packsAt(repository.place('a'));
    const bytes = readFileSync(pathOf(repository.place('a'), name!));
    bytes[100]! ^= 1;
    writeFileSync(pathOf(repository.place('a'), name!), bytes);
    const { unmoved } = await drainGroup(repository.context, 'a');
    expect(unmoved).toEqual([{ packId: name, groups: ['a'] }]);
    expect(packsAt(repository.place('a'))).toEqual([name]);
    await expect(removeGroup(repository.context, 'a')).rejects.toMatchObject({
      message: 'the group a has a pack',
      advice: { code: 'drain-group', subject: 'a' },
    });
  });
});

describe('a removal', () => {
  it('is refused while the group has packs, is offline, or is the only one', async () => {
    const repository = await makeFilled();
    await expect(removeGroup(repository.context, 'a')).rejects.toThrow(/the group a has \d+ packs/);
    repository.unmount('a');
    await expect(removeGroup(repository.context, 'a')).rejects.toThrow(/the group a is offline/);
    repository.mount('a');
    await drainGroup(repository.context, 'b');
    await removeGroup(repository.context, 'b');
    await expect(removeGroup(repository.context, 'a')).rejects.toThrow(RefusedError);
    await expectWhole(repository);
  });
});

describe('a rebalance', () => {
  it('gives a new group its share, and moves nothing else', async () => {
    const repository = await makeFilled(['a', 'b'], 2_000_000);
    await addGroup(repository.context, { name: 'c', place: repository.place('c') });
    const total = packsAt(repository.place('a')).length + packsAt(repository.place('b')).length;
    const before = [...packsAt(repository.place('a')), ...packsAt(repository.place('b'))];
    const { packsMoved } = await rebalanceGroups(repository.context, { dryRun: true });
    expect(packsAt(repository.place('c'))).toEqual([]);
    expect((await rebalanceGroups(repository.context)).packsMoved).toBe(packsMoved);
    expect(packsAt(repository.place('c')).length).toBe(packsMoved);
    const after = [...packsAt(repository.place('a')), ...packsAt(repository.place('b'))];
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
    // A third, with the deviation of a sample of this size.
    expect(Math.abs(packsMoved / total - 1 / 3)).toBeLessThan(5 * Math.sqrt(2 / 9 / total));
    expect(await rebalanceGroups(repository.context)).toMatchObject({ packsMoved: 0, surplusCopies: 0 });
    await expectWhole(repository);
  });

  it('leaves what is in a group that is read-only', async () => {
    const repository = await makeFilled(['a']);
    await addGroup(repository.context, { name: 'b', place: repository.place('b') });
    await setGroupState(repository.context, 'a', 'read-only');
    expect(await rebalanceGroups(repository.context)).toMatchObject({ packsMoved: 0 });
    await setGroupState(repository.context, 'a', 'active');
    expect((await rebalanceGroups(repository.context)).packsMoved).toBeGreaterThan(0);
    await expectWhole(repository);
  });

  it('goes on with a group offline, and what comes back with it is counted once', async () => {
    const repository = await makeFilled(['a', 'b']);
    await addGroup(repository.context, { name: 'c', place: repository.place('c') });
    repository.unmount('b');
    await rebalanceGroups(repository.context);
    repository.mount('b');
    await rebalanceGroups(repository.context);
    expect(await rebalanceGroups(repository.context)).toMatchObject({ packsMoved: 0, surplusCopies: 0 });
    await expectWhole(repository);
  });
});

describe('a pack that is in two groups', () => {
  /** As a move leaves it that is killed before it removes the source; the copy with the larger name is the new one. */
  async function makeTwice(): Promise<{ readonly repository: GroupedRepository; readonly name: string }> {
    const repository = await makeFilled();
    const [name] = packsAt(repository.place('a'));
    mkdirSync(join(repository.place('b'), 'packs', name!.slice(0, 2)), { recursive: true });
    cpSync(pathOf(repository.place('a'), name!), pathOf(repository.place('b'), `${name}.1-0123abcd`));
    return { repository, name: name! };
  }

  it('is counted once, and the older copy is removed by a compaction', async () => {
    const { repository, name } = await makeTwice();
    expect((await listGroups(repository.context)).surplusCopies).toBe(1);
    await expectWhole(repository);
    const { reclaimedBytes } = await compact(repository.context);
    expect(reclaimedBytes).toBeGreaterThan(0);
    expect(packsAt(repository.place('a'))).not.toContain(name);
    expect(packsAt(repository.place('b'))).toContain(`${name}.1-0123abcd`);
    expect((await listGroups(repository.context)).surplusCopies).toBe(0);
    await expectWhole(repository);
  });

  it('keeps both copies if the newer one is damaged', async () => {
    const { repository, name } = await makeTwice();
    const path = pathOf(repository.place('b'), `${name}.1-0123abcd`);
    const bytes = readFileSync(path);
    bytes[50]! ^= 1;
    writeFileSync(path, bytes);
    const { unmoved } = await drainGroup(repository.context, 'a');
    expect(unmoved).toEqual([{ packId: name, groups: ['b'] }]);
    expect(packsAt(repository.place('a'))).toEqual([name]);
  });

  it('is drained by a new copy that ranks above both', async () => {
    const { repository, name } = await makeTwice();
    await drainGroup(repository.context, 'b');
    const left = packsAt(repository.place('a')).filter((each) => each.startsWith(name));
    expect(left).toEqual([expect.stringMatching(/\.2-[0-9a-f]{8}$/)]);
    expect(packsAt(repository.place('b'))).toEqual([]);
    await expectWhole(repository);
  });

  it('is removed everywhere when its snapshots are deleted', async () => {
    const { repository } = await makeTwice();
    const { deleteSnapshots } = await import('../../../src/core/removing/delete.ts');
    await deleteSnapshots(repository.context, { selectors: ['latest'] });
    expect([...packsAt(repository.place('a')), ...packsAt(repository.place('b'))]).toEqual([]);
  });
});

it('an error of a group is not taken for a full one', async () => {
  const repository = await makeFilled(['a', 'b', 'c']);
  repository.unmount('c');
  await expect(drainGroup(repository.context, 'c')).rejects.toThrow(BackendError);
  repository.mount('c');
  await expectWhole(repository);
});
