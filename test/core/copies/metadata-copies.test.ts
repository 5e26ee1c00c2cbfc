import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { drainGroup, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { recoverFromGroups } from '../../../src/verbs/group/group-recover.ts';
import { addGroup, setGroupState } from '../../../src/verbs/group/groups.ts';
import { changeRepositoryPassword } from '../../../src/verbs/key/keys.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { fill, flipByte, makeTwice } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, recover, statesOf } from '../../support/metadata-in-groups.ts';
import { keepDirectory } from '../../support/kept-directory.ts';
import { backUp, makeStage } from '../../support/lost-places.ts';
import { testPassword } from '../../support/test-password.ts';

describe('copies of the metadata that are not current', () => {
  /** Something was backed up while the group b was away, so only a has copies of that. */
  async function makeStale(): Promise<GroupedRepository> {
    const repository = await makeTwice();
    repository.unmount('b');
    fill(repository, 'two', 2);
    await repository.backup();
    repository.mount('b');
    return repository;
  }

  it('are not taken for the newest ones if those are damaged, unless that is accepted', async () => {
    const repository = await makeStale();
    const state = copiesIn(repository, 'a', 'index').find((name) => name.startsWith('state-'));
    flipByte(join(repository.place('a'), 'metadata', 'index', state!), 100);
    await expect(recover(repository, 'a')).rejects.toThrow('are damaged');
    const { context } = repository;
    for (const names of [['a', 'b'], ['b']]) {
      const places = names.map((name) => repository.place(name));
      await expect(recoverFromGroups(context, places)).rejects.toThrow('the newest copies cannot be used');
    }
    expect(existsSync(ownPlace(repository))).toBe(false);
    const recovered = await recoverFromGroups(context, [repository.place('b')], { allowMissing: true });
    expect(recovered).toMatchObject({ snapshotCount: 1, from: ['b'], leftOut: ['a'] });
  });

  it('are outdated even if all groups have the same ones', async () => {
    const repository = await makeTwice();
    const kept = ['a', 'b'].map((name) => keepDirectory(join(repository.place(name), 'metadata')));
    fill(repository, 'two', 2);
    await repository.backup();
    for (const reset of kept) reset();
    expect(await statesOf(repository)).toEqual(['outdated', 'outdated']);
    await repository.backup();
    expect(await statesOf(repository)).toEqual(['current', 'current']);
  });

  it('are made in read-only groups, too, and in those that have reached their capacity', async () => {
    const repository = await makeTwice();
    for (const name of ['a', 'b']) await setGroupState(repository.context, name, 'read-only');
    await repository.backup();
    expect(await statesOf(repository)).toEqual(['current', 'current']);
    await recover(repository, 'a');
    expect(await listSnapshots(repository.context)).toHaveLength(2);
    for (const name of ['c', 'd'])
      await addGroup(repository.context, { name, place: repository.place(name), capacityBytes: 20_000 });
    fill(repository, 'two', 2, 10_000);
    repository.notices.length = 0;
    await repository.backup();
    expect(repository.notices.filter(({ kind }) => kind === 'group-not-written')).toEqual([]);
    expect(await statesOf(repository)).toEqual(['current', 'current', 'current', 'current']);
  });
});

describe('check and repair', () => {
  it('report copies of the metadata that are damaged, which repair writes again', async () => {
    const repository = await makeTwice();
    const { context } = repository;
    const metadata = join(repository.place('b'), 'metadata');
    const damaged = ['packs', 'index', 'snapshots', 'manifests.bak'].map((directory) => {
      const files = readdirSync(join(metadata, directory), { recursive: true, withFileTypes: true });
      const file = files.find((each) => each.isFile() && !each.name.startsWith('state-'))!;
      flipByte(join(file.parentPath, file.name), 20);
      return relative(metadata, join(file.parentPath, file.name));
    });
    expect((await check(context)).findings).toEqual([]);
    const { findings } = await check(context, { readData: true });
    expect(new Set(findings.map((finding) => finding.kind === 'metadata-damaged' && finding.name))).toEqual(
      new Set(damaged),
    );
    expect(findings[0]).toMatchObject({ severity: 'error', group: 'b' });
    const parts = [1, 2, 3].map(async (part) => (await check(context, { readData: { part, of: 3 } })).findings.length);
    expect((await Promise.all(parts)).reduce((total, count) => total + count, 0)).toBe(4);
    const actions = [{ kind: 'metadata-rewritten', fileCount: 4, group: 'b' }];
    expect(await repair(context, { dryRun: true })).toMatchObject({ actions, remaining: [] });
    expect((await check(context, { readData: true })).findings).toHaveLength(4);
    expect(await repair(context)).toMatchObject({ actions, remaining: [] });
    expect((await check(context, { readData: true })).findings).toEqual([]);
    expect((await repair(context)).actions).toEqual([]);
  });

  it('report copies of the metadata that are missing, which the next command makes', async () => {
    const repository = await makeTwice();
    const { context } = repository;
    for (const name of copiesIn(repository, 'a', 'snapshots'))
      rmSync(join(repository.place('a'), 'metadata', 'snapshots', name));
    rmSync(join(repository.place('b'), 'metadata'), { recursive: true });
    expect((await check(context)).findings).toEqual([
      { severity: 'warning', kind: 'metadata-outdated', group: 'a', state: 'outdated' },
      { severity: 'warning', kind: 'metadata-outdated', group: 'b', state: 'none' },
    ]);
    await repair(context);
    expect((await check(context)).findings).toEqual([]);
  });
});

describe('a group that cannot be reached', () => {
  it('is named when a key is replaced, which stays in its copies', async () => {
    const stage = await makeStage({ run: backUp, isEncrypted: true });
    renameSync(join(stage.directory, 'b'), join(stage.directory, 'away'));
    const notices: Notice[] = [];
    const context = { ...stage.context, onNotice: (notice: Notice) => void notices.push(notice) };
    await changeRepositoryPassword(context, { newPassword: testPassword('new password') });
    expect(notices).toMatchObject([{ kind: 'group-offline', name: 'b' }]);
  });

  it('is not expected of one that was removed, and what a backup has not copied is said once', async () => {
    const repository = await makeTwice(['a', 'b', 'c']);
    await drainGroup(repository.context, 'c');
    await removeGroup(repository.context, 'c');
    expect(repository.notices).toEqual([]);
    repository.unmount('b');
    fill(repository, 'two', 2);
    await repository.backup();
    expect(repository.notices.map(({ kind }) => kind)).toEqual(['group-offline', 'fewer-copies']);
  });
});
