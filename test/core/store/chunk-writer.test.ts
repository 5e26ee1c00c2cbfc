import { describe, expect, onTestFinished, test } from 'vitest';

import { BackendError } from '../../../src/core/errors.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { ChunkReader } from '../../../src/core/store/chunk-reader.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { chunksOf, codec, emptyStorage, hasher, rawBlock } from './store-support.ts';
import { SIZES, TestCompressor, add, beginWriting, heldCompressor, settle } from './writing-support.ts';

const prng = createPrng(20261120);

function idsIn(packs: readonly PackContents[]): string[] {
  return packs.flatMap((pack) => chunksOf(pack).map(({ id }) => Buffer.from(id).toString('hex')));
}

/** Promises that reject with nobody listening, from now on to the end of the test. */
function watchRejections(): unknown[] {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  return unhandled;
}

describe('chunks', () => {
  test('come back from the packs, whatever the caller does to its buffer', async () => {
    const backend = emptyStorage();
    const { writer, packs } = beginWriting(backend);
    const contents = new Map<string, string>();
    for (let count = 0; count < 300; count += 1) {
      const sizeBytes = 1 + prng.int(count % 10 === 0 ? 9000 : 900);
      const bytes = count % 3 === 0 ? prng.bytes(sizeBytes) : makeText(prng, sizeBytes);
      const copy = bytes.toString('hex');
      contents.set(await add(writer, bytes), copy);
      bytes.fill(0xee);
    }
    await writer.finish();
    expect(packs.length).toBeGreaterThan(3);
    expect(idsIn(packs).sort()).toEqual([...contents.keys()].sort());
    const reader = new ChunkReader(backend, codec, { cacheBytes: 1e6 });
    for (const chunk of packs.flatMap(chunksOf)) {
      const bytes = Buffer.from(await reader.read(chunk)).toString('hex');
      expect(bytes).toBe(contents.get(Buffer.from(chunk.id).toString('hex')));
    }
  });

  test('are written in the order they came, even if a later block is compressed first', async () => {
    const { compressor, finishers } = heldCompressor();
    const { writer, packs } = beginWriting(emptyStorage(), SIZES, compressor);
    // With two cores, the last one waits until there is room.
    const adding = [0, 1, 2].map(async () => add(writer, makeText(prng, 3000)));
    const finished = writer.finish();
    expect(finishers.length).toBe(3);
    for (const finish of finishers.toReversed()) {
      finish();
      await settle();
    }
    await finished;
    expect(idsIn(packs)).toEqual(await Promise.all(adding));
  });

  test('are in published packs once finish returns; without any there is no pack', async () => {
    const backend = emptyStorage();
    const { writer, packs } = beginWriting(backend);
    await writer.finish();
    expect(packs).toEqual([]);
    await add(writer, prng.bytes(10));
    await writer.finish();
    expect(packs.length).toBe(1);
    expect(backend.names()).toEqual([`packs/${packs[0]!.id.slice(0, 2)}/${packs[0]!.id}`]);
  });

  test('that are compressed already are stored as they are', async () => {
    const backend = emptyStorage();
    const { writer, packs } = beginWriting(backend);
    // To compress it again would make it shorter.
    const bytes = makeText(prng, 2000);
    const chunkIds = hasher.dataId(bytes);
    await writer.addEncoded(rawBlock('data', bytes, chunkIds));
    await writer.finish();
    expect(idsIn(packs)).toEqual([Buffer.from(chunkIds).toString('hex')]);
    expect(backend.view(backend.names()[0]!).includes(bytes)).toBe(true);
  });
});

describe('a slow compressor', () => {
  test('holds the caller back, and lets it go on when there is room', async () => {
    const { compressor, finishers } = heldCompressor();
    const { writer } = beginWriting(emptyStorage(), SIZES, compressor);
    let waiting: Promise<void> | undefined;
    let addedBytes = 0;
    while (waiting === undefined) {
      const bytes = makeText(prng, 4000);
      waiting = writer.add(hasher.dataId(bytes), bytes);
      addedBytes += bytes.length;
      expect(addedBytes, 'no back pressure').toBeLessThan(40 * SIZES.blockRawBytes);
    }
    let isFree = false;
    const freed = waiting.then(() => {
      isFree = true;
    });
    await settle();
    expect(isFree).toBe(false);
    const count = finishers.length;
    expect(count).toBeGreaterThan(2);
    for (const finish of finishers) finish();
    await freed;
    await writer.finish();
  });
});

describe('a storage that fails', () => {
  test.each(['create', 'append', 'sync', 'rename'] as const)(
    'at %s shows its own error, every time, and abort cleans up',
    async (at) => {
      const unhandled = watchRejections();
      const backend = emptyStorage();
      const faulty = new FaultyBackend(backend, { failAt: 1, only: (operation) => operation === at });
      const { writer, packs } = beginWriting(faulty);
      const errors = new Set<unknown>();
      const work = async (): Promise<void> => {
        for (let count = 0; count < 50; count += 1) await add(writer, makeText(prng, 3000));
        await writer.finish();
      };
      await work().catch((error: unknown) => errors.add(error));
      faulty.assertFired();
      // Whoever goes on hears the same.
      await Promise.resolve(writer.add(hasher.dataId(Buffer.alloc(9)), Buffer.alloc(9))).catch((error: unknown) =>
        errors.add(error),
      );
      await writer.finish().catch((error: unknown) => errors.add(error));
      expect(errors.size).toBe(1);
      expect([...errors][0]).toBeInstanceOf(BackendError);
      await writer.abort();
      await settle();
      expect(backend.names()).toEqual(packs.map(({ id }) => `packs/${id.slice(0, 2)}/${id}`).sort());
      expect(unhandled).toEqual([]);
    },
  );

  test('once, in the middle of a pack, gets nothing of what is in flight behind', async () => {
    const backend = emptyStorage();
    const faulty = new FaultyBackend(backend, { failAt: 4, only: (operation) => operation === 'append' });
    const { writer, packs } = beginWriting(faulty);
    // Without waiting for room, so that all of them are on their way when one fails.
    for (let count = 0; count < 40; count += 1) add(writer, prng.bytes(3000)).catch(() => undefined);
    await expect(writer.finish()).rejects.toThrow(BackendError);
    faulty.assertFired();
    await writer.abort();
    // A pack that lacks the bytes in the middle would have the digest of a whole one.
    expect([packs, backend.names()]).toEqual([[], []]);
  });

  test('wakes a caller that waits for room', async () => {
    const unhandled = watchRejections();
    const faulty = new FaultyBackend(emptyStorage(), {
      failAt: 3,
      errno: 'ENOSPC',
      only: (operation) => operation === 'append',
    });
    const { writer } = beginWriting(faulty);
    const waiting: Promise<void>[] = [];
    for (let count = 0; waiting.length === 0; count += 1) {
      expect(count, 'no back pressure').toBeLessThan(100);
      const bytes = makeText(prng, 4000);
      const full = writer.add(hasher.dataId(bytes), bytes);
      if (full !== undefined) waiting.push(full);
    }
    await expect(waiting[0]).rejects.toMatchObject({ errno: 'ENOSPC' });
    await writer.abort();
    await settle();
    expect(unhandled).toEqual([]);
  });
});

describe('a compressor that fails', () => {
  test('ends the writing with its own error, with blocks behind it in flight', async () => {
    const unhandled = watchRejections();
    const backend = emptyStorage();
    const failure = new Error('out of memory');
    let count = 0;
    // The second block fails while the first, which is written before it, still takes its time.
    const compressor = new TestCompressor(async (raw) => {
      count += 1;
      if (count > 1) throw failure;
      await settle();
      return { codec: 'raw', bytes: raw };
    });
    const { writer } = beginWriting(backend, SIZES, compressor);
    const work = async (): Promise<void> => {
      for (let index = 0; index < 5; index += 1) await writer.add(hasher.dataId(Buffer.alloc(1)), makeText(prng, 3000));
      await writer.finish();
    };
    await expect(work()).rejects.toBe(failure);
    await writer.abort();
    await settle();
    expect(backend.names()).toEqual([]);
    expect(unhandled).toEqual([]);
  });

  test('abort alone, with work in flight, leaves no temporary file', async () => {
    const backend = emptyStorage();
    const { writer } = beginWriting(backend, { ...SIZES, packBytes: 1e9 });
    for (let count = 0; count < 10; count += 1) void writer.add(hasher.dataId(Buffer.alloc(1)), makeText(prng, 3000));
    await writer.abort();
    expect(backend.names()).toEqual([]);
  });
});
