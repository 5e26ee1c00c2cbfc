import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { drainGroup, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { recoverFromGroups } from '../../../src/verbs/group/group-recover.ts';
import { addGroup, listGroups, setCopies } from '../../../src/verbs/group/groups.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { memoryBucket } from '../../support/buckets.ts';
import { fill, flipByte, makeGrouped, makeTwice } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { filesOf } from '../../support/test-repository.ts';
import { setGroupState } from '../../../src/verbs/group/groups.ts';
import { changeRepositoryPassword } from '../../../src/verbs/key/keys.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { keepDirectory } from '../../support/kept-directory.ts';
import { backUp, makeStage } from '../../support/lost-places.ts';
import { testPassword } from '../../support/test-password.ts';

function ownPlace({ directory }: GroupedRepository): string {
  return join(directory, 'repository');
}

function copiesIn(repository: GroupedRepository, name: string, directory: string): string[] {
  const path = join(repository.place(name), 'metadata', directory);
  return existsSync(path) ? readdirSync(path) : [];
}

async function statesOf({ context }: GroupedRepository): Promise<unknown[]> {
  return (await listGroups(context)).groups.map(({ metadata }) => metadata);
}

/** Loses the place of the repository, and makes it again. */
async function recover(repository: GroupedRepository, ...names: string[]): Promise<void> {
  rmSync(ownPlace(repository), { recursive: true });
  Object.assign(repository.context, { backend: new LocalBackend(ownPlace(repository)) });
  await recoverFromGroups(
    repository.context,
    names.map((name) => repository.place(name)),
  );
}

describe('the copies of the metadata', () => {
  it('are in each group if there are two copies, and in none if there is one', async () => {
    const twice = await makeTwice();
    expect(await statesOf(twice)).toEqual(['current', 'current']);
    expect(copiesIn(twice, 'a', 'snapshots')).toEqual(filesOf(twice, 'snapshots'));
    const once = await makeGrouped();
    expect(await statesOf(once)).toEqual([undefined, undefined]);
    expect(existsSync(join(once.place('a'), 'metadata'))).toBe(false);
  });

  it('catch up when a group is back, was added, or had none because an older version wrote the repository', async () => {
    const repository = await makeTwice();
    repository.unmount('b');
    fill(repository, 'two', 2);
    await repository.backup();
    repository.mount('b');
    rmSync(join(repository.place('a'), 'metadata'), { recursive: true });
    expect(await statesOf(repository)).toEqual(['none', 'outdated']);
    await addGroup(repository.context, { name: 'c', place: repository.place('c') });
    await repository.backup();
    expect(await statesOf(repository)).toEqual(['current', 'current', 'current']);
    for (const name of ['a', 'b', 'c']) {
      await recover(repository, name);
      await repository.expectRestored();
      expect((await check(repository.context)).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    }
  });

  it('keep what the repository has lost or has damaged', async () => {
    const repository = await makeTwice();
    const [pack] = filesOf(repository, 'packs');
    flipByte(join(ownPlace(repository), 'packs', pack!.slice(0, 2), pack!), 100);
    rmSync(join(ownPlace(repository), 'snapshots'), { recursive: true });
    fill(repository, 'two', 2);
    await repository.backup();
    await recover(repository, 'a');
    expect(await listSnapshots(repository.context)).toHaveLength(2);
    await repository.expectClean();
  });

  it('lose what a compaction has reclaimed', async () => {
    const repository = await makeTwice();
    fill(repository, 'two', 2);
    await repository.backup();
    await deleteSnapshots(repository.context, { selectors: ['latest'] });
    for (const directory of ['snapshots', 'deleted', 'manifests.bak', 'condemned'])
      expect(copiesIn(repository, 'b', directory)).toEqual(filesOf(repository, directory));
  });

  it('are removed with the group, and if nothing is to have copies', async () => {
    const repository = await makeTwice(['a', 'b', 'c']);
    await drainGroup(repository.context, 'b');
    await removeGroup(repository.context, 'b');
    expect(copiesIn(repository, 'b', 'snapshots')).toEqual([]);
    await addGroup(repository.context, { name: 'b', place: repository.place('b') });
    await setCopies(repository.context, { copies: 1 });
    await compact(repository.context);
    for (const name of ['a', 'b', 'c']) expect(copiesIn(repository, name, 'snapshots')).toEqual([]);
  });

  it('are used of a bucket and of a directory, whichever has a sound one', async () => {
    const bucket = memoryBucket();
    const repository = await makeGrouped(['a', 'b'], { buckets: { b: bucket }, copies: 2 });
    fill(repository, 'one', 1);
    await repository.backup();
    for (const name of copiesIn(repository, 'a', 'snapshots'))
      flipByte(join(repository.place('a'), 'metadata', 'snapshots', name), 10);
    await recover(repository, 'b');
    await repository.expectClean();
    await repository.expectRestored();
  });
});

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

describe('the command line', () => {
  it('offers group recover where a group is, and init does not take it', async () => {
    const repository = await makeTwice();
    const place = repository.place('a');
    const asRepository = await runLdmHere(['-r', place, 'snapshots']);
    expect(asRepository).toMatchObject({ code: 10 });
    expect(asRepository.stderr).toContain(`group recover ${place}`);
    expect(asRepository.stderr).not.toContain('init');
    const other = join(repository.directory, 'other');
    const init = await runLdmHere(['-r', other, 'init', '--no-encryption', '--group', `a=${place}`]);
    expect(init).toMatchObject({ code: 1 });
    expect(init.stderr).toContain(`group recover ${place}`);
  });

  it('makes the repository again', async () => {
    const repository = await makeTwice();
    rmSync(ownPlace(repository), { recursive: true });
    const lost = await runLdmHere(['-r', ownPlace(repository), 'snapshots']);
    expect(lost.stderr).toContain('ldm group recover --help');
    const place = join(repository.directory, 'new');
    const { code, stdout } = await runLdmHere(['--json', '-r', place, 'group', 'recover', repository.place('b')]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ change: 'recovered', snapshots: 1, from_groups: ['b', 'a'] });
    const recovered = { ...repository.context, backend: new LocalBackend(place) };
    expect((await check(recovered, { readData: true })).findings).toEqual([]);
  });
});
