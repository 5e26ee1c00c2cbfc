import { describe, expect, test, vi } from 'vitest';

import { ChunkReader } from '../../src/store/chunk-reader.ts';
import { bytesOfHeld } from '../../src/store/chunk-writer.ts';
import { StreamDigest } from '../../src/workers/hashing.ts';
import { createPrng } from '../support/prng.ts';
import { makeText } from '../support/tree-paths.ts';
import { chunksOf, emptyStorage, hasher } from './store-support.ts';
import { SIZES, add, beginWriting, settle } from './writing-support.ts';

const prng = createPrng(20261120);

describe('chunks that are held until their ids are known', () => {
  test('are stored as they were when they were taken, small ones and large ones, among others', async () => {
    const backend = emptyStorage();
    const { writer, packs } = beginWriting(backend);
    const contents = new Map<string, string>();
    for (const sizeBytes of [1, 100, 2048, 2049, 4096, 4097, 20_000]) {
      const source = makeText(prng, sizeBytes);
      const held = writer.hold(source);
      const id = hasher.dataId(source);
      contents.set(Buffer.from(id).toString('hex'), source.toString('hex'));
      // The caller reads on into the same memory.
      source.fill(0);
      expect(bytesOfHeld(held).length).toBe(sizeBytes);
      await writer.addHeld(id, held);
      const other = makeText(prng, 500);
      contents.set(await add(writer, other), other.toString('hex'));
    }
    await writer.finish();
    const reader = new ChunkReader(backend, hasher, { cacheBytes: 1e6 });
    const stored = packs.flatMap(chunksOf);
    expect(stored.length).toBe(contents.size);
    for (const chunk of stored) {
      const bytes = Buffer.from(await reader.read(chunk)).toString('hex');
      expect(bytes).toBe(contents.get(Buffer.from(chunk.id).toString('hex')));
    }
  });

  test('that need not be stored leave their memory to the next', () => {
    const { writer } = beginWriting(emptyStorage());
    const memory = new Set<unknown>();
    for (let count = 0; count < 50; count += 1) {
      const held = writer.hold(makeText(prng, 3000));
      memory.add(held.buffer);
      writer.drop(held);
    }
    expect(memory.size).toBe(1);
  });
});

describe('the memory of blocks', () => {
  test('is not used again before they are hashed, however long that takes', async () => {
    const waiting: (() => void)[] = [];
    const update = vi.spyOn(StreamDigest.prototype, 'update').mockImplementation(
      async ([header, payload]) =>
        new Promise<void>((resolve) => {
          if (payload === undefined) resolve();
          else waiting.push(resolve);
          hashed.push([header!, payload ?? header!]);
        }),
    );
    const hashed: [Uint8Array, Uint8Array][] = [];
    const { writer } = beginWriting(emptyStorage(), { ...SIZES, packBytes: 1e9 });
    const texts: string[] = [];
    let full: Promise<void> | undefined;
    while (full === undefined) {
      const bytes = prng.bytes(4000);
      texts.push(bytes.toString('hex'));
      full = writer.add(hasher.dataId(bytes), bytes);
      await settle();
      expect(texts.length, 'no back pressure').toBeLessThan(100);
    }
    const payloads = hashed.filter(([header, payload]) => header !== payload).map(([, payload]) => payload);
    expect(payloads.length).toBeGreaterThan(2);
    expect(payloads.map((payload) => Buffer.from(payload).toString('hex'))).toEqual(texts.slice(0, payloads.length));
    for (const resolve of waiting) resolve();
    await full;
    update.mockRestore();
    await writer.abort();
  });
});
