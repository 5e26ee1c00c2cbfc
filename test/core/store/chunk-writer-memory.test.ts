import { describe, expect, test } from 'vitest';

import type { FileWriter } from '../../../src/core/backend/publication.ts';
import { ChunkReader } from '../../../src/core/store/chunk-reader.ts';
import { bytesOfStaged } from '../../../src/core/store/chunk-writer.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { chunksOf, codec, emptyStorage, hasher } from './store-support.ts';
import { SIZES, TestCompressor, add, beginWriting, heldCompressor, settle } from './writing-support.ts';

const prng = createPrng(20261120);

describe('chunks that are staged until their ids are known', () => {
  test('are stored as they were when they were taken, small ones and large ones, among others', async () => {
    const backend = emptyStorage();
    const { writer, packs } = beginWriting(backend);
    const contents = new Map<string, string>();
    for (const sizeBytes of [1, 100, 2048, 2049, 4096, 4097, 20_000]) {
      const source = makeText(prng, sizeBytes);
      const staged = writer.stage(source);
      const id = hasher.dataId(source);
      contents.set(Buffer.from(id).toString('hex'), source.toString('hex'));
      // The caller reads on into the same memory.
      source.fill(0);
      expect(bytesOfStaged(staged).length).toBe(sizeBytes);
      await writer.addStaged(id, staged);
      const other = makeText(prng, 500);
      contents.set(await add(writer, other), other.toString('hex'));
    }
    await writer.finish();
    const reader = new ChunkReader(backend, codec, { cacheBytes: 1e6 });
    const stored = packs.flatMap(chunksOf);
    expect(stored.length).toBe(contents.size);
    for (const chunk of stored) {
      const bytes = Buffer.from(await reader.read(chunk)).toString('hex');
      expect(bytes).toBe(contents.get(Buffer.from(chunk.id).toString('hex')));
    }
  });

  test('and will not shrink are blocks of their own from 256 KiB on, and share one below', async () => {
    const sizes = { ...SIZES, packBytes: 1e9, blockRawBytes: 4 << 20 };
    const lengths = [300_000, 262_144, 262_143, 200_000, 1_000_000];
    const backend = emptyStorage();
    const staged = new Set<ArrayBufferLike>();
    const lone: unknown[] = [];
    const compressor = new TestCompressor(async (raw, options) => {
      // What is gathered is copied.
      if (staged.has(raw.buffer)) lone.push([raw.length, options?.isDense]);
      return { codec: 'raw', bytes: raw };
    });
    const { writer, packs } = beginWriting(backend, sizes, compressor);
    for (const source of [...lengths.map((length) => prng.bytes(length)), makeText(prng, 300_001)]) {
      const chunk = writer.stage(source);
      staged.add(chunk.buffer.buffer);
      await writer.addStaged(hasher.dataId(source), chunk);
    }
    await writer.finish();
    expect(lone).toEqual([300_000, 262_144, 1_000_000].map((length) => [length, true]));
    const blocks = packs.flatMap(({ blocks: found }) => found.map(({ chunkLengths }) => [...chunkLengths]));
    expect(blocks).toEqual([[300_000], [262_144], [1_000_000], [300_001], [262_143, 200_000]]);
  });

  test('take no more memory than they need and half a block each time it is used up', () => {
    const { writer } = beginWriting(emptyStorage(), { ...SIZES, blockRawBytes: 4 << 20 });
    const memory = new Set<ArrayBufferLike>();
    const lengths = Array.from({ length: 30 }, () => [1, 5000, 16_384, 16_385, 70_000, 2_000_000]).flat();
    for (const length of lengths) memory.add(writer.stage(Buffer.alloc(length)).buffer.buffer);
    const neededBytes = lengths.reduce((sum, length) => sum + length, 0);
    const takenBytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(takenBytes).toBeLessThanOrEqual(2 * neededBytes);
    expect(memory.size).toBeLessThan(lengths.length / 2);
  });

  test('that need not be stored leave their memory to the next', () => {
    const { writer } = beginWriting(emptyStorage());
    const memory = new Set<unknown>();
    for (let count = 0; count < 50; count += 1) {
      const staged = writer.stage(makeText(prng, 3000));
      memory.add(staged.buffer.buffer);
      writer.drop(staged);
    }
    expect(memory.size).toBe(1);
  });

  test('and are gathered leave their memory to the next', async () => {
    const { writer } = beginWriting(emptyStorage());
    const memory = new Set<unknown>();
    for (let count = 0; count < 50; count += 1) {
      const source = makeText(prng, 300);
      const staged = writer.stage(source);
      memory.add(staged.buffer.buffer);
      await writer.addStaged(hasher.dataId(source), staged);
    }
    expect(memory.size).toBeLessThan(10);
  });
});

describe('the memory of blocks', () => {
  test('that are parts of larger pieces is limited too, whatever their own size', async () => {
    const sizes = { ...SIZES, blockRawBytes: 4 << 20 };
    const { writer } = beginWriting(emptyStorage(), sizes, heldCompressor().compressor);
    const memory = new Set<ArrayBufferLike>();
    let full: Promise<void> | undefined;
    while (full === undefined) {
      // One new chunk among many that are known, as in a large file with small changes.
      const source = prng.bytes(300_000);
      const staged = writer.stage(source);
      memory.add(staged.buffer.buffer);
      full = writer.addStaged(hasher.dataId(source), staged);
      for (let count = 0; count < 15; count += 1) writer.drop(writer.stage(source));
      expect(memory.size, 'no back pressure').toBeLessThan(20);
    }
  });

  test('that were written counts no more, so that the caller is held back as early as at first', async () => {
    const addsUntilFull = async (writtenFirst: number): Promise<number> => {
      let isHeld = false;
      const compressor = new TestCompressor(async (bytes) => {
        if (isHeld) await new Promise(() => undefined);
        return { codec: 'raw', bytes };
      });
      const { writer } = beginWriting(emptyStorage(), SIZES, compressor);
      // In a buffer of 16 KiB.
      for (let count = 0; count < writtenFirst; count += 1) await add(writer, makeText(prng, 9000));
      await settle();
      isHeld = true;
      for (let count = 1; ; count += 1) {
        const bytes = makeText(prng, 9000);
        if (writer.add(hasher.dataId(bytes), bytes) !== undefined) return count;
        expect(count, 'no back pressure').toBeLessThan(100);
      }
    };
    expect(await addsUntilFull(20)).toBe(await addsUntilFull(0));
  });

  test('is not used again before they are written, however long that takes', async () => {
    let holds = true;
    const held: { readonly payload: Uint8Array; readonly goOn: () => void }[] = [];
    class HeldAppends extends FaultyBackend {
      override async create(name: string): Promise<FileWriter> {
        const file = await super.create(name);
        const append = async (bytes: Uint8Array): Promise<void> => {
          if (holds && bytes.length > 1000)
            await new Promise<void>((resolve) => held.push({ payload: bytes, goOn: resolve }));
          await file.append(bytes);
        };
        return { append, sync: async () => file.sync(), close: async () => file.close() };
      }
    }
    const { writer } = beginWriting(new HeldAppends(emptyStorage()), { ...SIZES, packBytes: 1e9 });
    const texts: string[] = [];
    let full: Promise<void> | undefined;
    while (full === undefined) {
      const bytes = prng.bytes(4000);
      texts.push(bytes.toString('hex'));
      full = writer.add(hasher.dataId(bytes), bytes);
      await settle();
      expect(texts.length, 'no back pressure').toBeLessThan(100);
    }
    expect(texts.length).toBeGreaterThan(2);
    for (let count = 0; count < texts.length - 1; count += 1) {
      expect(Buffer.from(held[count]!.payload).toString('hex')).toBe(texts[count]);
      held[count]!.goOn();
      await full;
      // It takes the memory of what was written, and of nothing else.
      const bytes = prng.bytes(4000);
      full = writer.add(hasher.dataId(bytes), bytes);
      await settle();
    }
    holds = false;
    for (const { goOn } of held) goOn();
    await full;
    await writer.abort();
  });
});
