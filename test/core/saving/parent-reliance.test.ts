import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';

import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { DEFAULT_STORE_SIZES } from '../../../src/core/store/store-sizes.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { createPrng } from '../../support/prng.ts';
import { runSeeded } from '../../support/repeatable-runs.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { letSettle } from '../../support/test-repository.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** Each is a chunk. */
function contentOf(index: number): Buffer {
  return Buffer.from(createPrng(index).bytes(1000));
}

interface Bucket {
  readonly store: MemoryStore;
  readonly source: string;
  readonly context: () => OperationContext;
  readonly save: () => Promise<BackupResult>;
}

/** A bucket, and a way to back a directory with files up to it in many packs. */
async function makeBucket(): Promise<Bucket> {
  const store = new MemoryStore();
  const source = memoryDirectory();
  const storeSizes = { ...DEFAULT_STORE_SIZES, blockRawBytes: 1000, packBytes: 2000 };
  const context = (): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests(), storeSizes });
  await initRepository({ backend: storeBackend(store), ...optionsOfTests() }, { capacity: 4096 });
  for (let index = 0; index < 60; index += 1) writeFileSync(join(source, `${index}`), contentOf(index));
  await letSettle(join(source, '59'));
  return {
    store,
    source,
    context,
    save: async () => backup(context(), { sources: [source], cwd: '/' }),
  };
}

function packsIn(store: MemoryStore): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('packs/'));
}

/** The packs that an unchanged backup asks for with these random bytes. */
async function packsAskedFor({ store, save }: Bucket, seed: number): Promise<string[]> {
  const requests: string[] = [];
  store.onRequest = (request, isDone) => void (isDone || requests.push(request));
  await runSeeded(seed, save, new Date());
  store.onRequest = () => undefined;
  expect(requests).not.toContain('list packs/');
  return packsIn(store).filter((key) => requests.includes(`head ${key}`));
}

test('an unchanged backup in a bucket asks for its parent and for some packs, and lists none', async () => {
  const bucket = await makeBucket();
  const { snapshotId } = await bucket.save();
  expect(packsIn(bucket.store).length).toBeGreaterThan(20);
  const requests: string[] = [];
  bucket.store.onRequest = (request, isDone) => void (isDone || requests.push(request));
  await bucket.save();
  expect(requests).toContain(`head snapshots/${snapshotId}`);
  // Twelve by chance, and that of the tree above the sources, which is made for the comparison.
  expect((await packsAskedFor(bucket, 1)).length).toBeLessThanOrEqual(13);
});

test('a backup whose parent has gone with its packs, although the lock still stands, stores everything again', async () => {
  const bucket = await makeBucket();
  const { store, save } = bucket;
  await save();
  // Those that are looked up anyway would be missed.
  const asked = await packsAskedFor(bucket, 1);
  const { snapshotId: parentId } = await save();
  const lost = [`snapshots/${parentId}`, ...packsIn(store).filter((key) => !asked.includes(key))];
  let lostCount = 0;
  store.onRequest = (request, isDone) => {
    if (isDone || lostCount > 0 || request !== `head snapshots/${parentId}`) return;
    for (const key of lost) lostCount += store.objects.delete(key) ? 1 : 0;
  };
  const { snapshotId } = await runSeeded(1, save, new Date());
  expect(lostCount).toBeGreaterThan(4);
  await expectRestored(bucket, snapshotId);
});

test('a lost pack that is drawn is missed, and its data is stored again', async () => {
  const bucket = await makeBucket();
  await bucket.save();
  const asked = await packsAskedFor(bucket, 1);
  const [drawn] = (await packsAskedFor(bucket, 2)).filter((key) => !asked.includes(key));
  expect(bucket.store.objects.delete(drawn!)).toBe(true);
  const { snapshotId } = await runSeeded(2, bucket.save, new Date());
  await expectRestored(bucket, snapshotId);
});

test('a stream is stored although the pack with its content was lost, and problems before a repetition count', async () => {
  const { store, source, save, context } = await makeBucket();
  await save();
  const lose = (): void => packsIn(store).forEach((key) => store.objects.delete(key));
  lose();
  const stream = { path: 'dump', content: Readable.from([contentOf(0)]) };
  const requests: string[] = [];
  store.onRequest = (request, isDone) => void (isDone || requests.push(request));
  const streamed = await backup(context(), { sources: [], cwd: '/', stream });
  expect(requests).not.toContain('list packs/');
  expect(streamed.summary.totalBytesProcessed).toBe(1000);
  expect(packsIn(store)).not.toEqual([]);
  lose();
  const missing = join(source, '..', 'ldm-is-not-there');
  const { problems } = await backup(context(), { sources: [source, missing], cwd: '/' });
  expect(problems).toHaveLength(1);
});

async function expectRestored({ source, context }: Bucket, snapshotId: string | undefined): Promise<void> {
  const target = join(memoryDirectory(), 'restored');
  await restore(context(), { selector: snapshotId!, target });
  for (let index = 0; index < 60; index += 1) {
    expect(readFileSync(join(target, basename(source), `${index}`)), `${index}`).toEqual(contentOf(index));
  }
}
