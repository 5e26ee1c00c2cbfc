import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const SEGMENT = /^put index\/[0-9a-f]{64}$/;

/** A bucket, and a first backup to it. `onSegment`: what the last segment waits for; with `holdsLooks`, each look at the lock after that, too. */
async function makeBucket(
  onSegment: () => Promise<void>,
  holdsLooks = false,
): Promise<{
  readonly store: MemoryStore;
  readonly save: () => Promise<BackupResult>;
}> {
  const store = new MemoryStore();
  const source = memoryDirectory();
  const context = (): Parameters<typeof backup>[0] => ({ backend: storeBackend(store), ...optionsOfTests() });
  await initRepository(context());
  writeFileSync(join(source, 'file'), 'content');
  let indexing: Promise<void> | undefined;
  store.onRequest = async (request, isDone) => {
    if (SEGMENT.test(request) && !isDone) await (indexing = onSegment());
    if (holdsLooks && request.startsWith('head locks/')) await indexing;
  };
  return { store, save: async () => backup(context(), { sources: [source], cwd: '/' }) };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function isCommitted({ requests }: MemoryStore): boolean {
  return requests.some((request) => request.startsWith('put snapshots/'));
}

test('a snapshot in a bucket is committed when its last segment is there', async () => {
  const { store, save } = await makeBucket(async () => {
    // Everything else is done meanwhile, if it does not wait for the segment.
    await turns(200);
    expect(isCommitted(store)).toBe(false);
  });
  await save();
  expect(isCommitted(store)).toBe(true);
});

test('a snapshot whose last segment cannot be written is not committed', async () => {
  const { store, save } = await makeBucket(async () => {
    await turns(20);
    throw failure('full');
  });
  await expect(save()).rejects.toMatchObject({ kind: 'full' });
  expect(isCommitted(store)).toBe(false);
  expect([...store.objects.keys()].filter((key) => key.startsWith('locks/'))).toEqual([]);
});

test('a snapshot is not committed by a process that loses its lock while it writes the last segment', async () => {
  const { store, save } = await makeBucket(async () => {
    for (const key of store.objects.keys()) if (key.startsWith('locks/')) store.objects.delete(key);
    await turns(20);
  }, true);
  await expect(save()).rejects.toThrow('lock');
  expect(isCommitted(store)).toBe(false);
});
