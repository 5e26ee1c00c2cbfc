import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { ChunkQueue } from '../../../src/core/saving/chunk-queue.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { ResultOf, Task } from '../../../src/core/workers/task-messages.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { createPrng } from '../../support/prng.ts';
import { RecordingSaver } from '../../support/recording-saver.ts';
import { recordSharedMemory } from '../../support/shared-memory.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';

const KIB = 1024;

const sumOf = (sizes: readonly number[]): number => sizes.reduce((sum, sizeBytes) => sum + sizeBytes, 0);
/** How much memory was made for files that are read or written together. */
const batchesIn = (sizes: readonly number[]): number => sizes.filter((sizeBytes) => sizeBytes === 512 * KIB).length;

/** Every block takes until the packs that are read beside it have come. */
class SlowThreads extends TaskPool {
  override async run<T extends Task>(task: T): Promise<ResultOf<T>> {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return await super.run(task);
  }
}

test('the chunks of a large file that are known already leave their memory to the next', async () => {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  Object.assign(repository.context, { storeSizes: { blockRawBytes: 16 * KIB, packBytes: 1e9, segmentBytes: 1e9 } });
  const file = join(repository.source, 'file');
  const content = createPrng(20261120).bytes(500 * KIB);
  writeFileSync(file, content);
  await repository.backup();
  for (let count = 0; count < 3; count += 1) writeFileSync(join(repository.source, `copy-${count}`), content);
  const memory = recordSharedMemory();
  const { summary } = await repository.backup();
  expect(summary.dataBlobs).toBe(0);
  // Stored blocks share memory of 8 MiB, of which only what is touched counts.
  const isShared = (sizeBytes: number): boolean => sizeBytes === 8 * 1024 * KIB;
  expect(memory.filter(isShared).length).toBeLessThanOrEqual(1);
  // Enough for those of one file, which are all hashed at a time, and not for three.
  expect(sumOf(memory.filter((sizeBytes) => !isShared(sizeBytes)))).toBeLessThan(2 * content.length);
});

test('small files that were read ahead leave their memory to the next, whatever their other names', async () => {
  const repository = await makeTestRepository();
  const prng = createPrng(20261121);
  for (let index = 0; index < 1500; index += 1) {
    const file = join(repository.source, `file-${index}`);
    writeFileSync(file, prng.bytes(KIB));
    if (index % 3 === 0) linkSync(file, `${file}-link`);
  }
  const memory = recordSharedMemory();
  await repository.backup();
  // 64 files at most are read together.
  expect(batchesIn(memory)).toBeLessThan((1000 / 64) * 0.75);
});

test('small files that threads write leave their memory to the next', async () => {
  const repository = await makeTestRepository();
  const prng = createPrng(20261125);
  for (let index = 0; index < 2500; index += 1)
    writeFileSync(join(repository.source, `file-${index}`), prng.bytes(KIB));
  await repository.backup();
  const memory = recordSharedMemory();
  await repository.expectRestored();
  // 64 files at most are written together.
  expect(batchesIn(memory)).toBeLessThan(2500 / 64 / 2);
});

test('the chunks of a file that could not be read to its end are let go', async () => {
  const chunks = new RecordingSaver();
  const queue = new ChunkQueue(chunks);
  for (let count = 0; count < 3; count += 1) await queue.append(Buffer.alloc(KIB), () => undefined);
  expect(chunks.staged.size).toBe(3);
  queue.dispose();
  queue.dispose();
  expect(chunks.staged.size).toBe(0);
  expect(chunks.stored).toEqual([]);
});

test('a check does not use the memory of a pack again before it is verified', async () => {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const storeSizes = { blockRawBytes: 8 * KIB, packBytes: 64 * KIB, segmentBytes: 1e9 };
  Object.assign(repository.context, { storeSizes });
  writeFileSync(join(repository.source, 'file'), createPrng(20261120).bytes(1000 * KIB));
  await repository.backup();
  const threads = new SlowThreads();
  onTestFinished(() => threads.close());
  const memory = recordSharedMemory();
  const { findings, packsChecked } = await check({ ...repository.context, threads }, { readData: true });
  expect(findings).toEqual([]);
  expect(packsChecked).toBeGreaterThan(10);
  // A reader of trees takes smaller ones.
  expect(memory.filter((sizeBytes) => sizeBytes >= KIB * KIB).length).toBeLessThan(packsChecked / 2);
});
