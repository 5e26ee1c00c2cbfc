import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { COMMITS_NAME, isCommitName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// A compaction that loses its lock while it writes `index/commits` must leave one with which others can go on.

let store: MemoryStore;
let directory: string;
let made: string[];

const context = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });

async function backUp(size: number): Promise<string> {
  writeFileSync(join(directory, 'file'), `${size % 10}`.repeat(1000 * size));
  return (await backup(context(), { sources: [directory], cwd: directory })).snapshotId!;
}

async function reclaim(id: string): Promise<void> {
  await deleteSnapshots(context(), { selectors: [id], reclaim: false });
  await compact(context(), { maxUnusedPercent: 0 });
}

function removeLocks(): void {
  for (const name of store.objects.keys()) if (name.startsWith('locks/')) store.objects.delete(name);
}

/** Does something at the next moment before or after `index/commits` is written. */
function atCommits(isAfter: boolean, action: () => Promise<void> | void): void {
  store.onRequest = async (request, isDone) => {
    if (request !== 'put index/commits' || isDone !== isAfter) return;
    store.onRequest = () => undefined;
    removeLocks();
    await action();
  };
}

beforeEach(async () => {
  store = new MemoryStore();
  directory = memoryDirectory();
  await initRepository(context(), { capacity: 256 });
  made = [];
  for (const size of [1, 2, 3, 4]) made.push(await backUp(size));
  await reclaim(made[0]!);
});

test.each([
  ['right after that', true, async () => undefined],
  ['right before it, while another one runs', false, async () => reclaim(made[2]!)],
])('%s', async (_, isAfter, action) => {
  atCommits(isAfter, action);
  await expect(reclaim(made[1]!)).rejects.toThrow('lock');
  expect((await check(context())).findings).toEqual([]);
  await reclaim(made[3]!);
  expect((await check(context())).findings).toEqual([]);
});

test('right before it, and others make many snapshots before they reclaim one: a repair uses no number again', async () => {
  atCommits(false, async () => {
    for (const size of [5, 6, 7]) await backUp(size);
    await reclaim(made[2]!);
  });
  await expect(reclaim(made[1]!)).rejects.toThrow('lock');
  const numbers = (): string[] => [...store.objects.keys()].filter((name) => isCommitName(name)).toSorted();
  const last = numbers().findLast((name) => name !== COMMITS_NAME)!;
  expect((await check(context())).findings).toMatchObject([{ kind: 'commit-damaged' }]);
  await repair(context());
  expect(numbers()[0]! > last).toBe(true);
  expect((await check(context())).findings).toEqual([]);
  await reclaim(made[3]!);
  expect((await check(context())).findings).toEqual([]);
});
