import { mkdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RefusedError, UsageError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { loseGroup } from '../../../src/verbs/group/group-lost.ts';
import { drainGroup, rebalanceGroups, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { addGroup, listGroups, setCopies, setGroupState } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, flipByte, makeGrouped, makeTwice, packPath, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { inSoak } from '../../support/soak.ts';

/** The ids of the packs in a group, without what names of copies add. */
function idsAt(repository: GroupedRepository, name: string): string[] {
  return packsAt(repository.place(name))
    .map((each) => each.slice(0, 64))
    .toSorted();
}

/** How many groups each pack is in. */
function copyCounts(repository: GroupedRepository, names: readonly string[]): number[] {
  const ids = names.flatMap((name) => [...new Set(idsAt(repository, name))]);
  return [...new Set(ids)].map((id) => ids.filter((other) => other === id).length);
}

async function expectWhole(repository: GroupedRepository): Promise<void> {
  await repository.expectClean();
  await repository.expectRestored();
}

describe('a backup with two copies', () => {
  it('writes each pack to two groups, and either of two can be missing', async () => {
    const repository = await makeTwice();
    expect(idsAt(repository, 'a')).toEqual(idsAt(repository, 'b'));
    expect(idsAt(repository, 'a').length).toBeGreaterThan(5);
    await expectWhole(repository);
    for (const name of ['a', 'b']) {
      repository.unmount(name);
      await repository.expectRestored();
      expect((await check(repository.context, { readData: true })).findings).toEqual([]);
      repository.mount(name);
    }
    expect(await listGroups(repository.context)).toMatchObject({ copies: 2, packsShort: 0, surplusCopies: 0 });
  });

  it('uses two of three groups for each pack, and all of them', async () => {
    const repository = await makeTwice(['a', 'b', 'c'], inSoak(1_000_000, 300_000));
    expect(new Set(copyCounts(repository, ['a', 'b', 'c']))).toEqual(new Set([2]));
    for (const name of ['a', 'b', 'c']) expect(idsAt(repository, name).length).toBeGreaterThan(0);
  });

  it('goes on with fewer groups, says so, and a rebalance makes the copies', async () => {
    const repository = await makeTwice();
    repository.unmount('b');
    fill(repository, 'two', 2, 100_000);
    await repository.backup();
    expect(repository.notices).toContainEqual({ kind: 'fewer-copies', packCount: expect.any(Number) as number });
    repository.mount('b');
    const { findings } = await check(repository.context, { readData: true });
    expect(findings).toMatchObject([
      { kind: 'copies-missing', severity: 'warning' },
      { kind: 'metadata-outdated', severity: 'warning' },
    ]);
    const { packsShort } = await listGroups(repository.context);
    expect(packsShort).toBeGreaterThan(0);
    expect(await rebalanceGroups(repository.context, { dryRun: true })).toMatchObject({ packsCopied: packsShort });
    expect(await rebalanceGroups(repository.context)).toMatchObject({ packsCopied: packsShort, packsMoved: 0 });
    expect(copyCounts(repository, ['a', 'b'])).not.toContain(1);
    await expectWhole(repository);
  });

  it('is deleted from every group, and counts all of that', async () => {
    const repository = await makeTwice();
    const bytes = (await listGroups(repository.context)).groups.map(({ packBytes }) => packBytes!);
    const { compaction } = await deleteSnapshots(repository.context, { selectors: ['latest'] });
    expect(compaction!.reclaimedBytes).toBeGreaterThanOrEqual(bytes[0]! + bytes[1]!);
    expect([...packsAt(repository.place('a')), ...packsAt(repository.place('b'))]).toEqual([]);
  });

  it('has its deletion planned with all copies', async () => {
    const repository = await makeTwice();
    const [one] = (await listGroups(repository.context)).groups.map(({ packBytes }) => packBytes!);
    await deleteSnapshots(repository.context, { selectors: ['latest'], reclaim: false });
    const { reclaimedBytes } = await compact(repository.context, { dryRun: true });
    expect(reclaimedBytes).toBeGreaterThanOrEqual(2 * one!);
  });
});

describe('a damaged copy', () => {
  it('is reported with its group, and everything is restored from the other', async () => {
    const repository = await makeTwice();
    for (const name of packsAt(repository.place('b'))) flipByte(packPath(repository.place('b'), name), 200);
    await repository.expectRestored();
    const { findings } = await check(repository.context, { readData: true });
    expect(findings.length).toBe(packsAt(repository.place('b')).length);
    for (const finding of findings) expect(finding).toMatchObject({ kind: 'copy-damaged', group: 'b' });
    await repository.expectRestored();
  });

  it('may be in either group, also if both copies of a pack are damaged in different blocks', async () => {
    const repository = await makeTwice(['a', 'b'], 100_000);
    for (const name of packsAt(repository.place('a'))) {
      flipByte(packPath(repository.place('a'), name), 200);
      flipByte(packPath(repository.place('b'), name), 9000);
    }
    await repository.expectRestored();
    const { findings } = await check(repository.context, { readData: true });
    expect(findings.length).toBeGreaterThan(0);
    for (const finding of findings) expect(finding).toMatchObject({ kind: 'pack-damaged', impact: { pathCount: 0 } });
    await repair(repository.context);
    await expectWhole(repository);
    expect(copyCounts(repository, ['a', 'b'])).not.toContain(1);
  });

  it('is replaced by a repair, which a dry run announces', async () => {
    const repository = await makeTwice(['a', 'b', 'c']);
    const [damaged, shortened, lost] = packsAt(repository.place('a'));
    flipByte(packPath(repository.place('a'), damaged!), 100);
    truncateSync(packPath(repository.place('a'), shortened!), 500);
    rmSync(packPath(repository.place('a'), lost!));
    const kinds = (await check(repository.context)).findings.map(({ kind }) => kind);
    expect(kinds).toEqual(['copy-damaged', 'copies-missing']);
    const planned = await repair(repository.context, { dryRun: true });
    expect(planned.actions.map(({ kind }) => kind)).toEqual(['copies-made', 'copy-quarantined', 'copy-quarantined']);
    expect(planned.actions[0]).toMatchObject({ packCount: 3 });
    const { actions, remaining } = await repair(repository.context);
    expect(actions).toEqual(planned.actions);
    expect(remaining).toEqual([]);
    expect(new Set(copyCounts(repository, ['a', 'b', 'c']))).toEqual(new Set([2]));
    await expectWhole(repository);
    expect((await repair(repository.context)).actions).toEqual([]);
  });
});

describe('the rules', () => {
  it('need as many groups as copies', async () => {
    await expect(makeGrouped(['a'], { copies: 2 })).rejects.toThrow(UsageError);
    const repository = await makeTwice();
    await expect(setCopies(repository.context, { copies: 3 })).rejects.toThrow(UsageError);
    await expect(setCopies(repository.context, { copies: 0 })).rejects.toThrow(UsageError);
    await expect(setCopies(repository.context, { copies: 2, copiesIfRefs: { refs: 9, copies: 2 } })).rejects.toThrow(
      UsageError,
    );
    await expect(drainGroup(repository.context, 'a')).rejects.toThrow(RefusedError);
    await addGroup(repository.context, { name: 'c', place: repository.place('c') });
    await drainGroup(repository.context, 'a');
    expect(packsAt(repository.place('a'))).toEqual([]);
    expect(new Set(copyCounts(repository, ['b', 'c']))).toEqual(new Set([2]));
    await removeGroup(repository.context, 'a');
    await drainGroup(repository.context, 'b').catch((error: unknown) => expect(error).toBeInstanceOf(RefusedError));
    await expectWhole(repository);
  });

  it('can be changed: copies are made, and later removed', async () => {
    const repository = await makeGrouped(['a', 'b', 'c']);
    fill(repository, 'one', 1, inSoak(500_000, 250_000));
    await repository.backup();
    await setCopies(repository.context, { copies: 2 });
    const { copies } = await compact(repository.context);
    expect(copies).toMatchObject({ packsMoved: 0, shortIds: [], surplusCopies: 0 });
    expect(copies!.packsCopied).toBeGreaterThan(10);
    expect(new Set(copyCounts(repository, ['a', 'b', 'c']))).toEqual(new Set([2]));
    await expectWhole(repository);
    expect(await rebalanceGroups(repository.context, { dryRun: true })).toMatchObject({ packsCopied: 0 });
    await setCopies(repository.context, { copies: 1 });
    expect((await listGroups(repository.context)).surplusCopies).toBeGreaterThan(10);
    expect((await compact(repository.context)).reclaimedBytes).toBeGreaterThan(inSoak(400_000, 200_000));
    expect(new Set(copyCounts(repository, ['a', 'b', 'c']))).toEqual(new Set([1]));
    await expectWhole(repository);
  });

  it('survive the loss of a group: the copies are made again elsewhere', async () => {
    const repository = await makeTwice(['a', 'b', 'c'], inSoak(500_000, 250_000));
    repository.unmount('b');
    expect(await loseGroup(repository.context, 'b', { confirmed: true })).toMatchObject({ packsLost: 0, paths: [] });
    expect((await listGroups(repository.context)).packsShort).toBeGreaterThan(0);
    await rebalanceGroups(repository.context);
    expect(new Set(copyCounts(repository, ['a', 'c']))).toEqual(new Set([2]));
    await expectWhole(repository);
  });

  it('are kept as far as possible when groups are full or read-only', async () => {
    const repository = await makeGrouped(['a']);
    fill(repository, 'one', 1, inSoak(300_000, 200_000));
    await repository.backup();
    await addGroup(repository.context, { name: 'b', place: repository.place('b'), capacityBytes: 100_000 });
    await setCopies(repository.context, { copies: 2 });
    const { packsCopied, shortIds } = await rebalanceGroups(repository.context);
    expect(packsCopied).toBeGreaterThan(0);
    expect(shortIds.length).toBe(packsAt(repository.place('a')).length - packsCopied);
    await setGroupState(repository.context, 'b', 'read-only');
    expect(await rebalanceGroups(repository.context)).toMatchObject({ packsCopied: 0, surplusCopies: 0 });
    expect(packsAt(repository.place('b')).length).toBe(packsCopied);
    await repository.expectRestored();
  });
});

describe('copies by references', () => {
  /**
   * `kept/often` is in every one of the snapshots and never changes; the rest is in one of them. The snapshots share the
   * tree of `kept`, so what is in it has one reference.
   */
  async function makeSnapshots(count: number): Promise<GroupedRepository> {
    const repository = await makeGrouped(['a', 'b'], { copiesIfRefs: { refs: count, copies: 2 } });
    mkdirSync(join(repository.source, 'kept'));
    fill(repository, 'kept/often', 1, 200_000);
    for (let number = 0; number < count; number += 1) {
      fill(repository, 'seldom', 100 + number, 100_000);
      await repository.backup();
    }
    return repository;
  }

  it('are made of what many snapshots need, although they share one reference to it', async () => {
    const repository = await makeSnapshots(4);
    expect(new Set(copyCounts(repository, ['a', 'b']))).toEqual(new Set([1]));
    const { copies } = await compact(repository.context);
    const counts = copyCounts(repository, ['a', 'b']);
    expect(counts.filter((each) => each === 2).length).toBe(copies!.packsCopied);
    expect(counts.filter((each) => each === 2).length).toBeGreaterThan(8);
    expect(counts.filter((each) => each === 1).length).toBeGreaterThan(15);
    await expectWhole(repository);
    expect((await check(repository.context)).findings).toEqual([]);
    // A delete reads no trees and leaves them; then three snapshots need it, and a compaction removes the copies.
    await deleteSnapshots(repository.context, { selectors: ['latest'] });
    expect(copyCounts(repository, ['a', 'b']).filter((each) => each === 2).length).toBeGreaterThan(8);
    const { copies: later } = await compact(repository.context);
    expect(later!.surplusCopies).toBeGreaterThan(8);
    expect(new Set(copyCounts(repository, ['a', 'b']))).toEqual(new Set([1]));
    await repository.expectClean();
  });

  it('count a file that occurs often in one snapshot', async () => {
    const repository = await makeGrouped(['a', 'b'], { copiesIfRefs: { refs: 5, copies: 2 } });
    for (let number = 0; number < 5; number += 1) fill(repository, `same-${number}`, 1, 100_000);
    await repository.backup();
    const { copies } = await compact(repository.context);
    expect(copies!.packsCopied).toBeGreaterThan(0);
    await expectWhole(repository);
  });
});
