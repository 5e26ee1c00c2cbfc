import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { ChunkQueue } from '../../../src/core/saving/chunk-queue.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { BufferPool } from '../../../src/core/store/buffer-pool.ts';
import { SlabPool } from '../../../src/core/store/slab-pool.ts';
import { createPrng } from '../../support/prng.ts';
import { RecordingSaver } from '../../support/recording-saver.ts';
import { threadsOfTests } from '../../support/test-threads.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';

const KIB = 1024;

/** How often a pool gives memory from now on, in pieces of at least so many bytes, and how many different ones. */
function watchMemory(
  sizeBytesMin = 0,
  pool: BufferPool | SlabPool = BufferPool.prototype,
): { readonly takenCount: () => number; readonly madeCount: () => number } {
  const take = vi.spyOn(pool, 'take');
  const all = (): Buffer[] => take.mock.results.map(({ value }) => value as Buffer);
  const results = (): Buffer[] => all().filter(({ length }) => length >= sizeBytesMin);
  return { takenCount: () => results().length, madeCount: () => new Set(results().map(({ buffer }) => buffer)).size };
}

test('the chunks of a large file that are known already leave their memory to the next', async () => {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  Object.assign(repository.context, { storeSizes: { blockRawBytes: 16 * KIB, packBytes: 1e9, segmentBytes: 1e9 } });
  const file = join(repository.source, 'file');
  const content = createPrng(20261120).bytes(500 * KIB);
  writeFileSync(file, content);
  await repository.backup();
  for (let count = 0; count < 3; count += 1) writeFileSync(join(repository.source, `copy-${count}`), content);
  const memory = watchMemory(0, SlabPool.prototype);
  const { summary } = await repository.backup();
  expect(summary.dataBlobs).toBe(0);
  expect(memory.takenCount()).toBeGreaterThan(500);
  // Enough for those of one file, which are all hashed at a time, and not for three.
  expect(memory.madeCount()).toBeGreaterThan(1);
  expect(memory.madeCount()).toBeLessThan((2 * content.length) / (16 * KIB));
});

test('small files that were read ahead leave their memory to the next, whatever their other names', async () => {
  const repository = await makeTestRepository();
  const prng = createPrng(20261121);
  for (let index = 0; index < 1500; index += 1) {
    const file = join(repository.source, `file-${index}`);
    writeFileSync(file, prng.bytes(KIB));
    if (index % 3 === 0) linkSync(file, `${file}-link`);
  }
  const memory = watchMemory();
  await repository.backup();
  // 64 files at most are read together.
  expect(memory.takenCount()).toBeGreaterThan(1000 / 64);
  expect(memory.takenCount()).toBeLessThan(100);
  expect(memory.madeCount()).toBeLessThan(memory.takenCount() * 0.75);
});

test('small files that threads write leave their memory to the next', async () => {
  const repository = await makeTestRepository();
  const prng = createPrng(20261125);
  for (let index = 0; index < 2500; index += 1)
    writeFileSync(join(repository.source, `file-${index}`), prng.bytes(KIB));
  await repository.backup();
  const memory = watchMemory(512 * KIB);
  await repository.expectRestored();
  // 64 files at most are written together. Two blocks are read, too.
  expect(memory.takenCount()).toBeGreaterThan(2500 / 64);
  expect(memory.madeCount()).toBeLessThan(memory.takenCount() / 2);
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
  // A reader of trees takes smaller ones.
  const memory = watchMemory(KIB * KIB);
  const threads = threadsOfTests();
  const run = threads.run.bind(threads);
  // Every block takes until the packs that are read beside it have come.
  vi.spyOn(threads, 'run').mockImplementation(async (task) => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return await run(task);
  });
  const { findings, packsChecked } = await check(repository.context, { readData: true });
  expect(findings).toEqual([]);
  expect(packsChecked).toBeGreaterThan(10);
  expect(memory.takenCount()).toBe(packsChecked);
  expect(memory.madeCount()).toBeLessThan(packsChecked / 2);
});
