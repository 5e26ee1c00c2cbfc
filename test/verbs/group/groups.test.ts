import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { checkStorage } from '../../../src/verbs/check/check-storage.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { addGroup, listGroups, setGroupPlace, setGroupState } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, makeGrouped, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';

type TinyChunks = Extract<typeof TINY_CHUNKS, { kind: 'fastcdc' }>;

describe('a repository with groups', () => {
  it('spreads its packs', async () => {
    const repository = await makeGrouped();
    // 61 packs, each in one of two groups by its random id: with 12, all were in one of them in 1 of 2,048 runs.
    fill(repository, 'one', 1, 1_000_000);
    await repository.backup();
    expect(packsAt(repository.place('a')).length).toBeGreaterThan(0);
    expect(packsAt(repository.place('b')).length).toBeGreaterThan(0);
    // Those of trees.
    expect(packsAt(join(repository.directory, 'repository')).length).toBeGreaterThan(0);
    await repository.expectClean();
    await repository.expectRestored();
    expect((await checkStorage(repository.context)).findings).toEqual([]);
    const { groups, missingPacks } = await listGroups(repository.context);
    expect(groups.map(({ packCount }) => packCount)).toEqual(
      ['a', 'b'].map((name) => packsAt(repository.place(name)).length),
    );
    expect(missingPacks).toBe(0);
  });

  it('deletes and reclaims in all groups', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    await deleteSnapshots(repository.context, { selectors: ['latest'] });
    expect([...packsAt(repository.place('a')), ...packsAt(repository.place('b'))]).toEqual([]);
    await repository.expectClean();
  });
});

describe('with a group offline', () => {
  it('a backup goes on in the others, and relies on what is known', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    const before = packsAt(repository.place('b'));
    repository.unmount('b');
    fill(repository, 'two', 2);
    const result = await repository.backup();
    expect(readdirSync(repository.place('b'))).toEqual([]);
    expect(result.summary.dataAdded).toBeLessThan(300_000);
    repository.mount('b');
    expect(packsAt(repository.place('b'))).toEqual(before);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('restore and check name the files and the group', async () => {
    const repository = await makeGrouped();
    for (let number = 0; number < 10; number += 1) fill(repository, `file-${number}`, number, 20_000);
    await repository.backup();
    repository.unmount('b');
    const { problems, exitCode } = await repository.restore();
    expect(exitCode).toBe(1);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThan(11);
    for (const { message } of problems) expect(message).toContain('group b');
    const { findings } = await check(repository.context);
    expect(JSON.stringify(findings)).toContain('the group b');
    expect(JSON.stringify(findings)).not.toContain('pack-missing');
    repository.mount('b');
    await repository.expectClean();
    await repository.expectRestored();
  });

  it.each([
    ['compact', async (repository: GroupedRepository) => compact(repository.context)],
    ['repair', async (repository: GroupedRepository) => repair(repository.context)],
  ])('%s refuses', async (_name, act) => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    repository.unmount('a');
    await expect(act(repository)).rejects.toThrow(RefusedError);
    repository.mount('a');
    await repository.expectClean();
  });

  it('a delete works and its space is reclaimed later', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    repository.unmount('b');
    const { notReclaimed } = await deleteSnapshots(repository.context, { selectors: ['latest'] });
    expect(notReclaimed?.error?.message).toContain('the group b');
    repository.mount('b');
    await compact(repository.context);
    expect([...packsAt(repository.place('a')), ...packsAt(repository.place('b'))]).toEqual([]);
  });
});

describe('the place of a group', () => {
  it('is not used if another group is mounted there', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    const before = [packsAt(repository.place('a')), packsAt(repository.place('b'))];
    const swap = (): void => {
      renameSync(repository.place('a'), repository.place('x'));
      renameSync(repository.place('b'), repository.place('a'));
      renameSync(repository.place('x'), repository.place('b'));
    };
    swap();
    fill(repository, 'two', 2);
    await expect(repository.backup()).rejects.toThrow(/no group can take a new pack: a is offline, b is offline/);
    const { groups } = await listGroups(repository.context);
    for (const { offlineReason } of groups) expect(offlineReason).toMatch(/another group/);
    swap();
    expect([packsAt(repository.place('a')), packsAt(repository.place('b'))]).toEqual(before);
    await repository.backup();
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('shows what is missing if a stale copy is brought back, and the next backup stores it again', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    const stale = repository.place('stale');
    cpSync(repository.place('b'), stale, { recursive: true });
    fill(repository, 'two', 2);
    await repository.backup();
    rmSync(repository.place('b'), { recursive: true });
    renameSync(stale, repository.place('b'));
    const { findings } = await check(repository.context);
    expect(findings.map(({ kind }) => kind)).toContain('pack-missing');
    expect((await listGroups(repository.context)).missingPacks).toBeGreaterThan(0);
    await repair(repository.context);
    await repository.backup({ force: true });
    await repository.expectRestored();
    expect((await check(repository.context, { selectors: ['latest'], readData: true })).findings).toEqual([]);
  });

  it('can change, if the group is there', async () => {
    const repository = await makeGrouped();
    fill(repository, 'one', 1);
    await repository.backup();
    const moved = join(repository.directory, 'moved');
    await expect(setGroupPlace(repository.context, 'a', repository.place('b'))).rejects.toThrow(/is not there/);
    renameSync(repository.place('a'), moved);
    await setGroupPlace(repository.context, 'a', moved);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('is refused for a new group if it is in use', async () => {
    const repository = await makeGrouped();
    const used = join(repository.directory, 'used');
    mkdirSync(used);
    writeFileSync(join(used, 'file'), '');
    const add = async (place: string, name = 'c'): Promise<unknown> => addGroup(repository.context, { name, place });
    await expect(add(used)).rejects.toThrow(/not empty: it has file/);
    await expect(add(repository.place('a'))).rejects.toThrow(/a group of this repository already/);
    await expect(add(join(repository.directory, 'repository'))).rejects.toThrow(/not empty/);
    await expect(add(repository.place('c'), 'a')).rejects.toThrow(/there is a group of this name/);
    const other = await makeGrouped();
    await expect(add(other.place('a'))).rejects.toThrow(/another repository/);
    expect((await listGroups(repository.context)).groups.map(({ name }) => name)).toEqual(['a', 'b']);
  });
});

describe('new packs', () => {
  it('go to a group that was added, and not to one that is read-only', async () => {
    const repository = await makeGrouped(['a']);
    fill(repository, 'one', 1);
    await repository.backup();
    await addGroup(repository.context, { name: 'b', place: repository.place('b') });
    await setGroupState(repository.context, 'a', 'read-only');
    const before = packsAt(repository.place('a'));
    fill(repository, 'two', 2);
    await repository.backup();
    expect(packsAt(repository.place('a'))).toEqual(before);
    expect(packsAt(repository.place('b')).length).toBeGreaterThan(0);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('stay below the capacity of a group', async () => {
    const repository = await makeGrouped(['a']);
    await addGroup(repository.context, { name: 'b', place: repository.place('b'), capacityBytes: 50_000 });
    fill(repository, 'one', 1, 400_000);
    await repository.backup();
    const { groups } = await listGroups(repository.context);
    expect(groups[1]!.packBytes).toBeGreaterThan(0);
    expect(groups[1]!.packBytes).toBeLessThanOrEqual(50_000);
    expect(groups[1]!.chunksMax).toBe(Math.floor(50_000 / (TINY_CHUNKS as TinyChunks).averageSizeBytes));
    await repository.expectClean();
    await repository.expectRestored();
  });
});
