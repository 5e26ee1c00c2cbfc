import { packName } from '../../../src/core/format/layout.ts';
import { beforeEach, describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { ChunkReader } from '../../../src/core/store/chunk-reader.ts';
import type { StoredChunk } from '../../../src/core/store/stored-chunk.ts';
import { ChunkWriter } from '../../../src/core/store/chunk-writer.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { chunksOf, codec, emptyStorage, hasher, sinkOf } from './store-support.ts';

const contents = Array.from({ length: 12 }, (_, index) => makeText(createPrng(index + 1), 1500));
let backend: MemoryBackend;
let chunks: StoredChunk[];

beforeEach(async () => {
  backend = emptyStorage();
  chunks = await writeAll(contents);
});

/** Writes chunks to a new pack. */
async function writeAll(written: readonly Uint8Array[]): Promise<StoredChunk[]> {
  const packs: PackContents[] = [];
  const sizes = { blockRawBytes: 4096, packBytes: 1e9, segmentBytes: 1e9 };
  const onPack = (pack: PackContents): void => void packs.push(pack);
  const sink = sinkOf(backend);
  const writer = new ChunkWriter({ sink, kind: 'data', packHash: 'blake3', codec, sizes, blocksAtOnce: 2, onPack });
  for (const bytes of written) await writer.add(hasher.dataId(bytes), bytes);
  await writer.finish();
  return packs.flatMap(chunksOf);
}

function makeReader(from: MemoryBackend | FaultyBackend = backend): ChunkReader {
  return new ChunkReader(from, codec, { cacheBytes: 1e6 });
}

describe('reading', () => {
  test('gives every chunk its own bytes', async () => {
    const reader = makeReader();
    for (const [index, chunk] of chunks.entries()) {
      expect(Buffer.compare(await reader.read(chunk), contents[index]!)).toBe(0);
    }
  });

  test('needs no turn of the event loop, and no second read, for a block at hand', async () => {
    const counting = new FaultyBackend(backend, { only: (operation) => operation === 'readRange' });
    const reader = makeReader(counting);
    expect(reader.read(chunks[0]!)).toBeInstanceOf(Promise);
    await reader.read(chunks[0]!);
    const count = counting.operations.length;
    const sameBlock = chunks.filter(({ blockOffset }) => blockOffset === chunks[0]!.blockOffset);
    expect(sameBlock.length).toBeGreaterThan(1);
    for (const chunk of sameBlock) expect(reader.read(chunk)).toBeInstanceOf(Uint8Array);
    expect(counting.operations.length).toBe(count);
  });

  test('shares one load among all who ask meanwhile', async () => {
    const counting = new FaultyBackend(backend, { only: (operation) => operation === 'readRange' });
    const reader = makeReader(counting);
    await Promise.all([reader.read(chunks[0]!), reader.read(chunks[0]!), reader.read(chunks[1]!)]);
    expect(counting.operations.length).toBe(1);
  });
});

describe('memory that is used again', () => {
  test('holds the right block whenever a chunk is shown, and a copy is nobody else’s', async () => {
    const prng = createPrng(20261124);
    const reader = new ChunkReader(backend, codec, { cacheBytes: 0 });
    const memories = new Set<unknown>();
    const isShown = (index: number, bytes: Uint8Array): void => {
      memories.add(bytes.buffer);
      expect(Buffer.compare(bytes, contents[index]!)).toBe(0);
    };
    const openAndRelease = async (index: number): Promise<void> => {
      const block = await reader.openBlock(chunks[index]!);
      for (let wait = prng.int(4); wait > 0; wait -= 1) await Promise.resolve();
      isShown(index, block.bytesOf(chunks[index]!));
      block.release();
    };
    const copies: { readonly index: number; readonly bytes: Uint8Array }[] = [];
    const readers = Array.from({ length: 20 }, async () => {
      for (let turn = 0; turn < 50; turn += 1) {
        const index = prng.int(chunks.length);
        if (prng.int(4) === 0) await openAndRelease(index);
        else if (prng.int(2) === 0) await reader.use(chunks[index]!, (bytes) => isShown(index, bytes));
        else copies.push({ index, bytes: await reader.read(chunks[index]!) });
        for (let wait = prng.int(4); wait > 0; wait -= 1) await Promise.resolve();
      }
    });
    await Promise.all(readers);
    for (const { index, bytes } of copies) expect(Buffer.compare(bytes, contents[index]!)).toBe(0);
    // One for each block would show nothing: so few that what was used must have been used again.
    expect(memories.size).toBeLessThan(60);
    expect(copies.length).toBeGreaterThan(300);
  });
});

describe('wrong bytes never leave the reader', () => {
  async function expectRefused(chunk: StoredChunk): Promise<void> {
    await expect((async () => makeReader().read(chunk))()).rejects.toBeInstanceOf(CorruptDataError);
    await expect(readPastCache(chunk)).rejects.toBeInstanceOf(CorruptDataError);
  }

  async function readPastCache(chunk: StoredChunk): Promise<Uint8Array> {
    return (await makeReader().openBlock(chunk)).bytesOf(chunk);
  }

  test.each([
    ['another id', { id: new Uint8Array(20) }],
    ['a length too short', { lengthBytes: 1499 }],
    ['a length too long', { lengthBytes: 1501 }],
    ['a length beyond the block', { lengthBytes: 1e9 }],
    ['another offset', { offsetInBlock: 1 }],
    ['an offset beyond the block', { offsetInBlock: 1e9 }],
    ['another kind', { kind: 'tree' }],
    ['a block offset where no block is', { blockOffset: 17 }],
    ['a block offset beyond the pack', { blockOffset: 1e9 }],
    ['a pack that is not there', { packId: 'ab'.repeat(32) }],
  ] as const)('%s', async (_, change) => {
    await expectRefused({ ...chunks[0]!, ...change });
  });

  test('any flipped byte of a block is refused, or does not touch the chunk', async () => {
    const chunk = chunks[0]!;
    const name = packName(chunk.packId);
    const whole = backend.peek(name)!;
    const end = chunks.find(({ blockOffset }) => blockOffset > chunk.blockOffset)!.blockOffset;
    let refusedCount = 0;
    for (let position = chunk.blockOffset; position < end; position += 7) {
      const damaged = Buffer.from(whole);
      damaged[position]! ^= 0x40;
      backend.poke(name, damaged);
      const read = position % 2 === 0 ? readPastCache : async (): Promise<Uint8Array> => makeReader().read(chunk);
      const outcome = await read(chunk).catch((error: unknown) => error);
      if (outcome instanceof Uint8Array) expect(Buffer.compare(outcome, contents[0]!)).toBe(0);
      else {
        expect(outcome).toBeInstanceOf(CorruptDataError);
        refusedCount += 1;
      }
    }
    expect(refusedCount).toBeGreaterThan((end - chunk.blockOffset) / 7 / 3);
  });

  test('a pack that is cut short', async () => {
    const last = chunks.at(-1)!;
    const name = packName(last.packId);
    backend.poke(name, backend.peek(name)!.subarray(0, last.blockOffset + 40));
    await expectRefused(last);
    expect(Buffer.compare(await makeReader().read(chunks[0]!), contents[0]!)).toBe(0);
  });
});

describe('a read that fails', () => {
  test('is tried again by the next reader', async () => {
    const only = (operation: string): boolean => operation === 'readRange';
    const faulty = new FaultyBackend(backend, { failAt: 1, errno: 'EACCES', only });
    const reader = makeReader(faulty);
    const failing = [reader.read(chunks[0]!), reader.read(chunks[0]!)];
    for (const reading of failing) await expect(reading).rejects.toMatchObject({ kind: 'denied' });
    expect(Buffer.compare(await reader.read(chunks[0]!), contents[0]!)).toBe(0);
    faulty.assertFired();
  });
});

describe('a large chunk', () => {
  const large = createPrng(99).bytes(200_000);
  let chunk: StoredChunk;

  beforeEach(async () => {
    chunk = (await writeAll([large]))[0]!;
  });

  test('vouches for itself and for nothing else', async () => {
    const reader = makeReader();
    expect(Buffer.compare(await reader.read(chunk), large)).toBe(0);
    for (const change of [
      { id: new Uint8Array(20) },
      { lengthBytes: 199_999 },
      { offsetInBlock: 1 },
      { kind: 'tree' },
    ] as const) {
      await expect((async () => reader.read({ ...chunk, ...change }))()).rejects.toBeInstanceOf(CorruptDataError);
    }
  });

  test('is refused when it is damaged', async () => {
    const name = packName(chunk.packId);
    const damaged = backend.peek(name)!;
    damaged[150_000]! ^= 1;
    backend.poke(name, damaged);
    const reader = makeReader();
    await expect((async () => reader.read(chunk))()).rejects.toBeInstanceOf(CorruptDataError);
  });
});
