import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { letSettle } from '../../support/test-repository.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** A bucket, and a way to back a directory with a file up to it. */
async function makeBucket(): Promise<{
  readonly store: MemoryStore;
  readonly source: string;
  readonly requests: string[];
  readonly save: () => Promise<BackupResult>;
}> {
  const store = new MemoryStore();
  const source = memoryDirectory();
  const requests: string[] = [];
  await initRepository({ backend: storeBackend(store), ...optionsOfTests() }, { capacity: 4096 });
  writeFileSync(join(source, 'one'), createPrng(1).bytes(20_000));
  return {
    store,
    source,
    requests,
    save: async () => backup({ backend: storeBackend(store), ...optionsOfTests() }, { sources: [source], cwd: '/' }),
  };
}

function packsIn(store: MemoryStore): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('packs/'));
}

test('an unchanged backup in a bucket asks for its parent, lists no packs, and asks for one at most', async () => {
  const { store, source, requests, save } = await makeBucket();
  for (let round = 2; round < 6; round += 1) {
    writeFileSync(join(source, `${round}`), createPrng(round).bytes(20_000));
    await letSettle(join(source, `${round}`));
    await save();
  }
  expect(packsIn(store).length).toBeGreaterThan(6);
  const { snapshotId } = await save();
  store.onRequest = (request, isDone) => void (isDone || requests.push(request));
  await save();
  expect(requests).toContain(`head snapshots/${snapshotId}`);
  expect(requests).not.toContain('list packs/');
  // The tree above the sources is made for the comparison.
  expect(requests.filter((request) => request.startsWith('head packs/')).length).toBeLessThanOrEqual(1);
});

test('a backup whose parent has gone with its packs, although the lock still stands, stores everything again', async () => {
  const { store, source, requests, save } = await makeBucket();
  await letSettle(join(source, 'one'));
  await save();
  store.onRequest = (request, isDone) => void (isDone || requests.push(request));
  const { snapshotId: parentId } = await save();
  // That of the tree above the sources would be missed anyway.
  const lost = [`snapshots/${parentId}`, ...packsIn(store).filter((key) => !requests.includes(`head ${key}`))];
  let lostCount = 0;
  store.onRequest = (request, isDone) => {
    if (isDone || lostCount > 0 || request !== `head snapshots/${parentId}`) return;
    for (const key of lost) lostCount += store.objects.delete(key) ? 1 : 0;
  };
  const { snapshotId } = await save();
  expect(lostCount).toBeGreaterThan(1);
  const target = join(memoryDirectory(), 'restored');
  await restore({ backend: storeBackend(store), ...optionsOfTests() }, { selector: snapshotId!, target });
  expect(readFileSync(join(target, basename(source), 'one'))).toEqual(Buffer.from(createPrng(1).bytes(20_000)));
});
