import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { LaggingStore } from '../../support/lagging-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// The checkpoint of a compaction calls nothing lost that another compaction has reclaimed since.

let store: LaggingStore;
let source: string;
let made: string[];

const context = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });
const namesIn = (name: string): string[] => [...store.objects.keys()].filter((key) => key.startsWith(`${name}/`));

async function backUp(seed?: number): Promise<string> {
  if (seed !== undefined) writeFileSync(join(source, 'file'), createPrng(seed).bytes(5000 + seed));
  return (await backup(context(), { sources: [source], cwd: source })).snapshotId!;
}

async function reclaim(snapshotId: string): Promise<void> {
  await deleteSnapshots(context(), { selectors: [snapshotId], reclaim: false });
  await compact(context(), { maxUnusedPercent: 0 });
}

function removeLocks(): void {
  for (const name of namesIn('locks')) store.objects.delete(name);
}

/** `left`: the checkpoint, which is the only one that can be used. */
async function expectNoneLost(left: string): Promise<void> {
  store.unlisted.clear();
  expect(store.objects.has(left)).toBe(true);
  for (const name of namesIn('filter')) if (name !== left) store.objects.delete(name);
  const { findings } = await check(context());
  expect(findings.filter(({ kind }) => kind === 'snapshot-lost')).toEqual([]);
  await compact(context(), { maxUnusedPercent: 0 });
  expect((await check(context(), { readData: true })).findings).toEqual([]);
}

beforeEach(async () => {
  store = new LaggingStore();
  source = join(memoryDirectory(), 'source');
  mkdirSync(source);
  await initRepository(context(), { capacity: 256 });
  made = [];
  for (const seed of [1, 2, 3, 4]) made.push(await backUp(seed));
  await reclaim(made[0]!);
});

test('if the first one has reclaimed no snapshot, and a listing lacks its checkpoint', async () => {
  for (const seed of [5, 6, 7, 8]) await backUp(seed);
  const before = namesIn('filter');
  // Too little for a checkpoint.
  await backUp();
  expect(namesIn('filter')).toEqual(before);
  await compact(context(), { maxUnusedPercent: 0 });
  const [left = ''] = namesIn('filter');
  expect(before).not.toContain(left);
  store.unlisted.add(left);
  await reclaim(made[1]!);
  await expectNoneLost(left);
});

test('if the first one was suspended and has lost its lock, and dies when its checkpoint has got its name', async () => {
  let left = '';
  const die = (): never => {
    throw new Error('died');
  };
  store.onRequest = async (request) => {
    if (!request.startsWith('put filter/')) return;
    left = request.slice('put '.length);
    store.onRequest = (later, isDone) => {
      if (later !== request || !isDone) return;
      store.onRequest = die;
      die();
    };
    removeLocks();
    await reclaim(made[2]!);
  };
  await expect(reclaim(made[1]!)).rejects.toThrow('died');
  store.onRequest = () => undefined;
  removeLocks();
  await expectNoneLost(left);
});
