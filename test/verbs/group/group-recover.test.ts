import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { StoredMemory } from '../../../src/console/repository-memory.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { drainGroup, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { addGroup, setCopies } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { memoryBucket } from '../../support/buckets.ts';
import { fill, flipByte, makeGrouped, makeTwice } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, recover, statesOf } from '../../support/metadata-in-groups.ts';
import { keepDirectory } from '../../support/kept-directory.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { filesOf } from '../../support/test-repository.ts';

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
    await repository.expectRestored();
    await repair(repository.context);
    await repository.expectClean();
  });
});

describe('a repository that was made again in the same place', () => {
  it.each([false, true])('is not older for a machine that knows it, unless it is: %s', async (isOlder) => {
    const repository = await makeTwice();
    const fail = (message: string): never => expect.fail(message);
    const memory = new StoredMemory(memoryDirectory(), { warn: fail, note: fail });
    Object.assign(repository.context, { memory });
    const kept = ['a', 'b'].map((name) => keepDirectory(join(repository.place(name), 'metadata')));
    fill(repository, 'two', 2);
    await repository.backup();
    await repository.backup();
    await compact(repository.context);
    if (isOlder) for (const reset of kept) reset();
    await recover(repository, 'a');
    const deleting = deleteSnapshots(repository.context, { selectors: ['latest'] });
    await (isOlder ? expect(deleting).rejects.toThrow('is older than this machine has seen it') : deleting);
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

  it('lets init be repeated if a place could not be used, and says what an interrupted one leaves', async () => {
    const directory = memoryDirectory();
    mkdirSync(join(directory, 'b', 'photos'), { recursive: true });
    const groups = ['a', 'b'].flatMap((name) => ['--group', `${name}=${join(directory, name)}`]);
    const init = ['-r', join(directory, 'own'), 'init', '--no-encryption', '--copies', '2', ...groups];
    const refused = await runLdmHere(init);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('it has photos');
    rmSync(join(directory, 'b', 'photos'), { recursive: true });
    const identity = join(directory, 'a', 'group-id');
    expect(existsSync(identity)).toBe(false);
    expect(await runLdmHere(init)).toMatchObject({ code: 0 });
    rmSync(join(directory, 'own'), { recursive: true });
    for (const name of ['a', 'b']) rmSync(join(directory, name, 'metadata'), { recursive: true });
    const killed = await runLdmHere(init);
    expect(killed).toMatchObject({ code: 1 });
    expect(killed.stderr).toContain(`remove the file group-id in ${join(directory, 'a')}`);
    expect(killed.stderr).not.toContain('group recover');
  });

  it('is recommended where this machine has seen groups, and nowhere else', async () => {
    const directory = memoryDirectory();
    const at = (name: string): string => join(directory, name);
    const env = { XDG_STATE_HOME: at('state') };
    for (const name of ['a', 'b', 'source']) mkdirSync(at(name));
    const groups = ['--group', `a=${at('a')}`, '--group', `b=${at('b')}`];
    const make = async (name: string, ...options: string[]): Promise<void> => {
      await runLdmHere(['-r', at(name), 'init', '--no-encryption', ...options], { env });
      expect(await runLdmHere(['-r', at(name), 'backup', at('source')], { env })).toMatchObject({ code: 0 });
      rmSync(at(name), { recursive: true });
    };
    await make('grouped', '--copies', '2', ...groups);
    await make('single');
    const adviceAt = async (name: string, given = env): Promise<string> =>
      (await runLdmHere(['-r', at(name), 'snapshots'], { env: given })).stderr;
    const recommended =
      'The repository there had groups: if only its own place is lost, `ldm -r NEW group recover GROUP`';
    expect(await adviceAt('grouped')).toContain(recommended);
    for (const name of ['single', 'never']) expect(await adviceAt(name)).not.toContain('group');
    // A place of a group says so itself.
    expect(await adviceAt('a', { XDG_STATE_HOME: at('other') })).toContain(`group recover ${at('a')}`);
  });

  it('makes the repository again', async () => {
    const repository = await makeTwice();
    rmSync(ownPlace(repository), { recursive: true });
    const lost = await runLdmHere(['-r', ownPlace(repository), 'snapshots']);
    expect(lost.stderr).toContain('Create one with');
    const place = join(repository.directory, 'new');
    const { code, stdout } = await runLdmHere(['--json', '-r', place, 'group', 'recover', repository.place('b')]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ change: 'recovered', snapshots: 1, from_groups: ['b', 'a'] });
    const recovered = { ...repository.context, backend: new LocalBackend(place) };
    expect((await check(recovered, { readData: true })).findings).toEqual([]);
  });
});
