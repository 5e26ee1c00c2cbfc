import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { deletedName, manifestCopyName, snapshotName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots } from '../../../src/verbs/tag/tag.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { LaggingStore, machineWith } from '../../support/lagging-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

let store: LaggingStore;
let directory: string;
/** From the oldest to the newest. */
let made: string[];

/** A command on this machine, whose cache has the manifests that it has seen or written. */
const here = (): OperationContext => ({ backend: machineWith(store, directory), ...optionsOfTests() });
const elsewhere = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });
const options = (): { sources: string[]; cwd: string } => ({ sources: [join(directory, 'source')], cwd: directory });
const namesIn = (name: string): string[] =>
  [...store.objects.keys()].filter((key) => key.startsWith(`${name}/`)).map((key) => key.slice(name.length + 1));

beforeEach(async () => {
  store = new LaggingStore();
  directory = memoryDirectory();
  mkdirSync(join(directory, 'source'));
  await initRepository(elsewhere(), { capacity: 256 });
  made = [];
  for (const index of [1, 2, 3]) {
    writeFileSync(join(directory, 'source', 'file'), createPrng(index).bytes(5000 + index));
    made.push((await backup(here(), { ...options(), time: `2020-01-0${index}T00:00:00Z` })).snapshotId!);
  }
  await listSnapshots(here());
});

describe('where a snapshot was deleted on another machine and is still listed', () => {
  let oldest: string;
  let middle: string;
  let newest: string;

  beforeEach(async () => {
    [oldest, middle, newest] = made as [string, string, string];
    await deleteSnapshots(elsewhere(), { selectors: [newest] });
    store.stillListed.add(snapshotName(newest));
  });

  test('forget counts only those that exist', async () => {
    const { groups } = await forgetByPolicy(here(), { policy: { counts: { last: 1 } } });
    expect(groups.flatMap(({ kept }) => kept.map(({ listing }) => listing.id))).toEqual([middle]);
    expect(groups.flatMap(({ removed }) => removed.map(({ listing }) => listing.id))).toEqual([oldest]);
    expect(namesIn('snapshots')).toEqual([middle]);
  });

  test('`latest` is the newest one that exists', async () => {
    const { snapshots } = await deleteSnapshots(here(), { selectors: ['latest'], reclaim: false });
    expect(snapshots.map(({ id }) => id)).toEqual([middle]);
    expect(namesIn('snapshots')).toEqual([oldest]);
  });

  test('a backup does not write the copy of its manifest again, which would make it look lost', async () => {
    writeFileSync(join(directory, 'source', 'file'), 'other');
    await backup(here(), options());
    store.stillListed.clear();
    expect((await check(elsewhere())).findings).toEqual([]);
  });

  test('a copy does not take it for copied', async () => {
    const source = new MemoryStore();
    const from = { backend: storeBackend(source), ...optionsOfTests() };
    await initRepository(from, { capacity: 256 });
    await copySnapshots(elsewhere(), { selectors: [middle], destination: from });
    const [copyId] = (await copySnapshots(from, { destination: here() })).snapshots.map((each) => each.copyId);
    expect(copyId).toBe(middle);
    await deleteSnapshots(elsewhere(), { selectors: [middle], reclaim: false });
    store.stillListed.add(snapshotName(middle));
    const { snapshots } = await copySnapshots(from, { destination: here() });
    expect(snapshots.map(({ added }) => added !== undefined)).toEqual([true]);
  });
});

test('a backup makes a snapshot of what is in none, also if one that was deleted is still listed', async () => {
  const [, , newest] = made;
  await deleteSnapshots(elsewhere(), { selectors: [newest!], reclaim: false });
  store.stillListed.add(snapshotName(newest!));
  const { snapshotId, parentId } = await backup(here(), { ...options(), skipIfUnchanged: true });
  expect(parentId).toBe(newest);
  expect(namesIn('snapshots').toSorted()).toEqual([...made.slice(0, 2), snapshotId!].toSorted());
});

test('nothing goes to make room for a snapshot that was deleted and is still listed', async () => {
  const [, , newest] = made;
  await deleteSnapshots(elsewhere(), { selectors: [newest!], reclaim: false });
  store.stillListed.add(snapshotName(newest!));
  const sizeBytes = [...store.objects.values()].reduce((sum, { length }) => sum + length, 0);
  const limited = { policy: {}, keepSizeBytes: sizeBytes - 4000, dryRun: true };
  const { groups } = await forgetByPolicy(here(), limited);
  expect(groups.flatMap(({ removed }) => removed)).toEqual([]);
});

test('a snapshot that is not listed keeps its packs, also if its backup was not shown the commit records', async () => {
  await deleteSnapshots(elsewhere(), { selectors: [made[0]!] });
  expect(namesIn('index')).toContain('commits');
  const hide = (before: readonly string[]): void => {
    for (const name of store.objects.keys()) {
      if (/^(snapshots|manifests\.bak|filter)\//.test(name) && !before.includes(name)) store.unlisted.add(name);
    }
  };
  for (const name of namesIn('index').filter((each) => each.startsWith('commit'))) store.unlisted.add(`index/${name}`);
  const before = [...store.objects.keys()];
  writeFileSync(join(directory, 'source', 'file'), createPrng(9).bytes(9000));
  const { snapshotId } = await backup(elsewhere(), options());
  store.unlisted.clear();
  hide(before);
  await compact(elsewhere(), { maxUnusedPercent: 0 });
  store.unlisted.clear();
  expect(namesIn('snapshots')).toContain(snapshotId);
  expect((await check(elsewhere(), { readData: true })).findings).toEqual([]);
});

describe('where the newest snapshot is not listed, nor the copy of its manifest', () => {
  beforeEach(() => {
    for (const name of [snapshotName(made[2]!), manifestCopyName(made[2]!)]) store.unlisted.add(name);
  });

  test('delete takes it for the latest', async () => {
    const { snapshots } = await deleteSnapshots(here(), { selectors: ['latest'], reclaim: false });
    expect(snapshots.map(({ id }) => id)).toEqual([made[2]]);
    expect(namesIn('deleted')).toEqual([made[2]]);
  });

  test('forget keeps it as the newest', async () => {
    await forgetByPolicy(here(), { policy: { counts: { last: 1 } }, reclaim: false });
    expect(namesIn('snapshots')).toEqual([made[2]]);
  });

  test('commands that replace the latest one replace it', async () => {
    const { changed } = await pinSnapshots(here(), { selectors: ['latest'] });
    expect(changed.map(({ old }) => old.id)).toEqual([made[2]]);
    const pinned = changed[0]!.new.id;
    for (const name of [snapshotName(pinned), manifestCopyName(pinned)]) store.unlisted.add(name);
    const refused = rewriteSnapshots(here(), { selectors: ['latest'], newHost: 'other', forget: true });
    await expect(refused).rejects.toThrow(/pinned/);
  });
});

describe('where a deleted snapshot is not listed yet among the deleted ones', () => {
  beforeEach(async () => {
    await deleteSnapshots(elsewhere(), { selectors: [made[0]!], reclaim: false });
    store.unlisted.add(deletedName(made[0]!));
  });

  test('forget does not call it lost', async () => {
    await forgetByPolicy(here(), { policy: { counts: { last: 1 } }, reclaim: false });
    expect(namesIn('snapshots')).toEqual([made[2]]);
  });

  test('forget is refused once it is lost', async () => {
    store.objects.delete(deletedName(made[0]!));
    const refused = forgetByPolicy(here(), { policy: { counts: { last: 1 } }, reclaim: false });
    await expect(refused).rejects.toThrow(`snapshots/${made[0]!} is missing although the snapshot was not deleted`);
    expect(namesIn('snapshots')).toHaveLength(2);
  });
});
