import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { deletedName, isCommitName, manifestCopyName, snapshotName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { LaggingStore, machineWith } from '../../support/lagging-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// What an old listing has, or lacks, must not be in a checkpoint, where it would look lost for ever.

let store: LaggingStore;
let directory: string;

/** A command on this machine, whose cache has what it has seen or written. */
const here = (): OperationContext => ({ backend: machineWith(store, directory), ...optionsOfTests() });
const elsewhere = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });
const namesIn = (name: string): string[] => [...store.objects.keys()].filter((key) => key.startsWith(`${name}/`));
const newestCheckpoint = (): string => namesIn('filter').toSorted().at(-1)!;

async function backUp(context: OperationContext, seed?: number): Promise<string> {
  if (seed !== undefined) writeFileSync(join(directory, 'source', 'file'), createPrng(seed).bytes(5000 + seed));
  return (await backup(context, { sources: [join(directory, 'source')], cwd: directory })).snapshotId!;
}

async function reclaim(context: OperationContext, snapshotId: string): Promise<void> {
  await deleteSnapshots(context, { selectors: [snapshotId], reclaim: false });
  await compact(context, { maxUnusedPercent: 0 });
}

/** With listings that are up to date, nothing is called damaged, and space is reclaimed. */
async function expectSound(): Promise<void> {
  store.stillListed.clear();
  store.unlisted.clear();
  expect((await check(elsewhere(), { readData: true })).findings).toEqual([]);
  await compact(elsewhere(), { maxUnusedPercent: 0 });
  expect((await check(elsewhere(), { readData: true })).findings).toEqual([]);
}

beforeEach(async () => {
  store = new LaggingStore();
  directory = memoryDirectory();
  mkdirSync(join(directory, 'source'));
  await initRepository(elsewhere(), { capacity: 256 });
});

describe('where snapshots and segments were removed on another machine and are still listed', () => {
  let made: string[];
  let removed: string[];

  beforeEach(async () => {
    made = [];
    for (const seed of [1, 2, 3]) made.push(await backUp(here(), seed));
    await listSnapshots(here());
    const before = [...namesIn('snapshots'), ...namesIn('index')];
    await reclaim(elsewhere(), made[1]!);
    removed = before.filter((name) => !store.objects.has(name) && !isCommitName(name));
    expect(removed.map((name) => name.split('/')[0])).toEqual(['snapshots', 'index']);
  });

  test.each([false, true])(
    'a backup does not write them to its checkpoint, also if it lists them only first: %s',
    async (isFirst) => {
      const before = newestCheckpoint();
      for (const name of removed) store.stillListed.add(name);
      store.onRequest = (request) => {
        if (isFirst && request.startsWith('put snapshots/')) store.stillListed.clear();
      };
      await backUp(here(), 4);
      expect(newestCheckpoint() > before).toBe(isFirst);
      await expectSound();
    },
  );

  test('nor does it with what a checkpoint has that the compaction had to leave', async () => {
    const last = await backUp(here(), 5);
    const left = newestCheckpoint();
    const segments = namesIn('index').filter((name) => !isCommitName(name));
    store.unlisted.add(left);
    await reclaim(elsewhere(), last);
    expect(store.objects.has(left)).toBe(true);
    store.unlisted.clear();
    for (const name of namesIn('filter')) if (name !== left) store.unlisted.add(name);
    for (const name of [...segments, snapshotName(last)]) store.stillListed.add(name);
    await backUp(here(), 6);
    await expectSound();
  });
});

test('a backup does not take a reclaimed snapshot for lost that its first listing still had among the deleted ones', async () => {
  const made = await backUp(here(), 1);
  // The same files, so that the checkpoint can be used.
  await backUp(here());
  const left = newestCheckpoint();
  store.unlisted.add(left);
  await reclaim(elsewhere(), made);
  store.unlisted.clear();
  for (const name of namesIn('filter')) if (name !== left) store.unlisted.add(name);
  store.stillListed.add(deletedName(made));
  store.onRequest = (request) => {
    if (request.startsWith('put snapshots/')) store.stillListed.clear();
  };
  await backUp(here(), 3);
  await expectSound();
});

describe('a compaction on a machine with a cache does not count', () => {
  let made: string[];

  beforeEach(async () => {
    made = [];
    // The same files, so that no chunk of a snapshot that is gone is missing.
    for (const _ of [1, 2, 3]) made.push(await backUp(here(), 1));
    await listSnapshots(here());
  });

  test('a snapshot that was reclaimed and is still listed', async () => {
    await reclaim(elsewhere(), made[1]!);
    store.stillListed.add(snapshotName(made[1]!));
    await reclaim(here(), made[0]!);
    await expectSound();
  });

  test('a snapshot that was deleted and is still listed', async () => {
    await deleteSnapshots(elsewhere(), { selectors: [made[1]!], reclaim: false });
    store.stillListed.add(snapshotName(made[1]!));
    await compact(here(), { maxUnusedPercent: 0 });
    await expectSound();
    expect(namesIn('deleted')).toEqual([]);
  });
});

describe('a compaction whose listing lacks the newest checkpoint', () => {
  let made: string[];
  let left: string;

  beforeEach(async () => {
    made = [];
    for (const seed of [1, 2, 3]) made.push(await backUp(elsewhere(), seed));
    left = newestCheckpoint();
    store.unlisted.add(left);
    await reclaim(elsewhere(), made[2]!);
    expect(store.objects.has(left)).toBe(true);
  });

  test('writes one that is newer', async () => {
    expect(newestCheckpoint()).not.toBe(left);
    await expectSound();
  });

  test('leaves one that calls nothing lost, also if it is the only one', async () => {
    for (const name of namesIn('filter')) if (name !== left) store.objects.delete(name);
    store.unlisted.clear();
    const { findings } = await check(elsewhere());
    expect(findings.filter(({ kind }) => kind === 'snapshot-lost')).toEqual([]);
    await compact(elsewhere(), { maxUnusedPercent: 0 });
    expect(store.objects.has(left)).toBe(false);
    await expectSound();
  });

  test('does not write a second one if that is not listed either', async () => {
    const { length } = namesIn('filter');
    store.onRequest = (request) => {
      const [, name = ''] = /^put (filter\/.*)/.exec(request) ?? [];
      if (name !== '') store.unlisted.add(name);
    };
    for (const name of namesIn('filter')) store.unlisted.add(name);
    await reclaim(elsewhere(), made[1]!);
    expect(namesIn('filter')).toHaveLength(length + 1);
  });
});

test('a checkpoint from after the last reclaiming still shows that a snapshot is lost', async () => {
  const first = await backUp(elsewhere(), 1);
  await backUp(elsewhere(), 2);
  await reclaim(elsewhere(), first);
  const records = namesIn('index').filter((name) => isCommitName(name));
  const lost = await backUp(elsewhere(), 3);
  const added = namesIn('index').filter((name) => isCommitName(name) && !records.includes(name));
  for (const name of [snapshotName(lost), manifestCopyName(lost), ...added])
    expect(store.objects.delete(name)).toBe(true);
  expect((await check(elsewhere())).findings).toMatchObject([{ kind: 'snapshot-lost', snapshotId: lost }]);
  await expect(compact(elsewhere())).rejects.toThrow('is missing although it was not deleted');
});

test('only what is new since the last checkpoint is asked for, and only for a new one', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) await backUp(here(), seed);
  const segments = namesIn('index').filter((name) => !isCommitName(name));
  expect(segments.length).toBeGreaterThan(5);
  const asked = async (seed?: number): Promise<string[]> => {
    const from = store.requests.length;
    await backUp(here(), seed);
    return store.requests.slice(from).filter((request) => /^head (index\/(?!commit)|filter)/.test(request));
  };
  expect(await asked(7)).toHaveLength(2);
  expect(await asked()).toEqual([]);
  const [first] = namesIn('snapshots');
  await reclaim(here(), first!.slice('snapshots/'.length));
  expect(await asked(8)).toHaveLength(2);
});

test('a backup writes a checkpoint although another machine deletes a snapshot meanwhile', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7]) await backUp(here(), seed);
  // Too little for a checkpoint, so that it is added to the last one.
  const added = await backUp(here());
  const before = newestCheckpoint();
  store.onRequest = async (request) => {
    if (!request.startsWith('put snapshots/')) return;
    store.onRequest = () => undefined;
    await deleteSnapshots(elsewhere(), { selectors: [added], reclaim: false });
  };
  await backUp(here(), 8);
  expect(newestCheckpoint() > before).toBe(true);
  await expectSound();
});
