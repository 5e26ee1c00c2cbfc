import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// A compaction that loses its lock while it writes `index/commits` must leave one with which others can go on.

let store: MemoryStore;
let made: string[];

const context = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });

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
  const directory = memoryDirectory();
  await initRepository(context(), { capacity: 256 });
  made = [];
  for (const index of [1, 2, 3, 4]) {
    writeFileSync(join(directory, 'file'), `${index}`.repeat(1000 * index));
    made.push((await backup(context(), { sources: [directory], cwd: directory })).snapshotId!);
  }
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
