import { mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { drainGroup, rebalanceGroups } from '../../src/core/copies/group-moves.ts';
import { listGroups, setGroupState } from '../../src/verbs/group/groups.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { Ext4Disk } from '../support/ext4-disk.ts';
import { fill, makeGrouped, packsAt } from '../support/grouped-repository.ts';
import type { GroupedRepository } from '../support/grouped-repository.ts';
import { createPrng } from '../support/prng.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { inSoak } from '../support/soak.ts';
import { fillToTheLastByte, freeBytesOf } from '../support/tmpfs.ts';
import { missingTools } from '../support/tools.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

const DISK_BYTES = 4 * 1024 * 1024;
const missing = missingTools('mkfs.ext4');

beforeEach(({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  skip(missing !== '', missing);
});

interface Disks extends GroupedRepository {
  readonly disks: Readonly<Record<string, Ext4Disk>>;
}

/** A repository with a snapshot in groups on file systems of their own. Undefined where those cannot be mounted. */
async function makeOnDisks(names: readonly string[] = ['a', 'b']): Promise<Disks | undefined> {
  const directory = memoryDirectory();
  const disks: Record<string, Ext4Disk> = {};
  for (const name of names) {
    const disk = Ext4Disk.make(join(directory, `${name}.img`), join(directory, `group-${name}`), DISK_BYTES);
    if (disk === undefined) return undefined;
    disks[name] = disk;
  }
  const repository = await makeGrouped(names, {}, directory);
  // Packs of 16 KiB go to either group by chance: so many that each gets several.
  fill(repository, 'one', 1, inSoak(500_000, 300_000));
  await repository.backup();
  return { ...repository, disks };
}

const NO_MOUNT = 'no disk image can be mounted here, not even by root';

async function expectWhole(repository: GroupedRepository): Promise<void> {
  await repository.expectClean();
  await repository.expectRestored();
}

/** Fills a disk with one file, and leaves about this much. Returns its path. */
function leave(repository: GroupedRepository, name: string, bytes: number): string {
  const junk = join(repository.place(name), 'junk');
  fillToTheLastByte(junk);
  truncateSync(junk, statSync(junk).size - bytes);
  return junk;
}

describe('a group on a disk that is full', () => {
  it('from any write on leaves new packs to the others', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    for (let step = 0; step < 8; step += inSoak(1, 4)) {
      const junk = leave(repository!, 'b', step * 12_000);
      fill(repository!, `new-${step}`, 100 + step);
      const before = packsAt(repository!.place('b')).length;
      await repository!.backup();
      // A pack has 16 KiB, and about half of 13 would go there.
      expect(packsAt(repository!.place('b')).length - before).toBeLessThanOrEqual(step);
      expect(readdirSync(join(repository!.place('b'), 'tmp'))).toEqual([]);
      rmSync(junk);
    }
    await expectWhole(repository!);
  });

  it('stops a drain, which goes on when there is room', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    for (const room of inSoak([0, 8000, 20_000, 20_000], [0, 20_000])) {
      const junk = leave(repository!, 'b', room);
      await expect(drainGroup(repository!.context, 'a')).rejects.toMatchObject({ kind: 'full' });
      await expectWhole(repository!);
      rmSync(junk);
    }
    await drainGroup(repository!.context, 'a');
    expect(packsAt(repository!.place('a'))).toEqual([]);
    await expectWhole(repository!);
  });

  it('fails a backup if no group has room, and nothing is lost', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    const junk = ['a', 'b'].map((name) => leave(repository!, name, 0));
    fill(repository!, 'two', 2);
    await expect(repository!.backup()).rejects.toMatchObject({ kind: 'full' });
    await repository!.expectClean();
    for (const path of junk) rmSync(path);
    await repository!.backup();
    await expectWhole(repository!);
  });
});

describe('a disk that is not mounted', () => {
  it('is not written to, whatever the command', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    repository!.disks['b']!.unmount();
    fill(repository!, 'two', 2);
    await repository!.backup();
    await expect(drainGroup(repository!.context, 'a')).rejects.toMatchObject({ kind: 'full' });
    await setGroupState(repository!.context, 'a', 'active');
    await rebalanceGroups(repository!.context);
    expect(readdirSync(repository!.place('b'))).toEqual([]);
    repository!.disks['b']!.mountAt(repository!.place('b'));
    await rebalanceGroups(repository!.context);
    await expectWhole(repository!);
  });

  it('is noticed if another one of the repository is mounted there', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    const { disks, place } = repository!;
    for (const name of ['a', 'b']) disks[name]!.unmount();
    disks['a']!.mountAt(place('b'));
    disks['b']!.mountAt(place('a'));
    for (const { offlineReason } of (await listGroups(repository!.context)).groups) {
      expect(offlineReason).toMatch(/another group/);
    }
    await expect(drainGroup(repository!.context, 'a')).rejects.toThrow(/offline/);
    fill(repository!, 'two', 2);
    await expect(repository!.backup()).rejects.toThrow(/no group can take a new pack/);
    for (const name of ['a', 'b']) disks[name]!.unmount();
    for (const name of ['a', 'b']) disks[name]!.mountAt(place(name));
    await repository!.backup();
    await expectWhole(repository!);
  });
});

describe('a stale copy of a disk', () => {
  it('from before a backup shows what is missing, which the next one stores again', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    const stale = join(repository!.directory, 'stale.img');
    repository!.disks['b']!.copyTo(stale);
    fill(repository!, 'two', 2);
    await repository!.backup();
    repository!.disks['b']!.restoreFrom(stale);
    const { findings } = await check(repository!.context);
    expect(findings.map(({ kind }) => kind)).toContain('pack-missing');
    await repair(repository!.context);
    await repository!.backup({ force: true });
    await repository!.expectRestored();
    expect((await check(repository!.context, { selectors: ['latest'], readData: true })).findings).toEqual([]);
  });

  it('from before a drain costs nothing: what is in it is left over', async ({ skip }) => {
    const repository = await makeOnDisks();
    skip(repository === undefined, NO_MOUNT);
    const stale = join(repository!.directory, 'stale.img');
    repository!.disks['b']!.copyTo(stale);
    const count = packsAt(repository!.place('b')).length;
    await drainGroup(repository!.context, 'b');
    repository!.disks['b']!.restoreFrom(stale);
    expect((await listGroups(repository!.context)).surplusCopies).toBe(count);
    await expectWhole(repository!);
    await compact(repository!.context);
    expect(packsAt(repository!.place('b'))).toEqual([]);
    await expectWhole(repository!);
  });
});

it('two backups at a time share the disks, of which one fills up', async ({ skip }) => {
  const repository = await makeOnDisks();
  skip(repository === undefined, NO_MOUNT);
  const junk = leave(repository!, 'b', 150_000);
  const sources = ['x', 'y'].map((name, index) => {
    const source = join(repository!.directory, name);
    mkdirSync(source);
    writeFileSync(join(source, 'file'), createPrng(50 + index).bytes(300_000));
    return source;
  });
  const run = async (source: string): Promise<unknown> =>
    backup(repository!.context, { sources: [source], cwd: repository!.directory });
  await Promise.all(sources.map(run));
  expect(freeBytesOf(repository!.place('b'))).toBeLessThan(150_000);
  rmSync(junk);
  await repository!.expectClean();
});
