import { beforeEach, expect, test } from 'vitest';

import { BlockCache } from '../../../src/core/store/block-cache.ts';

interface Block {
  readonly buffer: Uint8Array;
}

function makeBlock(sizeBytes: number): Block {
  return { buffer: new Uint8Array(sizeBytes) };
}

/** What is gone, in its order. */
const gone: Block[] = [];

beforeEach(() => void gone.splice(0));

function makeCache(sizeBytesMax: number): BlockCache<Block> {
  return new BlockCache(sizeBytesMax, (block) => void gone.push(block));
}

async function load(cache: BlockCache<Block>, key: string, sizeBytes: number): Promise<void> {
  await cache.put(key, Promise.resolve(makeBlock(sizeBytes))).loading;
}

test('a block is there while it is loaded and at hand afterwards', async () => {
  const cache = makeCache(100);
  let finish: (block: Block) => void = () => undefined;
  const put = cache.put(
    'a',
    new Promise((resolve) => {
      finish = resolve;
    }),
  );
  expect(cache.get('a')).toBe(put);
  expect(put.loaded).toBeUndefined();
  const block = makeBlock(10);
  finish(block);
  await put.loading;
  expect(cache.get('a')?.loaded).toBe(block);
  expect(cache.get('b')).toBeUndefined();
});

test('the least recently used blocks go when there are too many bytes', async () => {
  const cache = makeCache(100);
  for (const key of ['a', 'b', 'c']) await load(cache, key, 30);
  cache.get('a');
  await load(cache, 'd', 30);
  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key) !== undefined)).toEqual(['a', 'c', 'd']);
  await load(cache, 'e', 100);
  expect(['a', 'c', 'd', 'e'].filter((key) => cache.get(key) !== undefined)).toEqual(['e']);
  expect(gone.map(({ buffer }) => buffer.length)).toEqual([30, 30, 30, 30]);
});

test('a block that is larger than the cache is handed out and not kept', async () => {
  const cache = makeCache(100);
  await load(cache, 'a', 50);
  const large = cache.put('b', Promise.resolve(makeBlock(101)));
  await large.loading;
  expect(large.loaded?.buffer.length).toBe(101);
  expect(cache.get('b')).toBeUndefined();
  // What it pushed out is forgotten with its bytes: there is room for 100 again.
  for (const key of ['c', 'd']) await load(cache, key, 50);
  expect(['c', 'd'].filter((key) => cache.get(key) !== undefined)).toEqual(['c', 'd']);
});

test('blocks that are still loading stay, whatever their number', async () => {
  const cache = makeCache(10);
  const loading = Array.from({ length: 20 }, (_, index) => cache.put(`${index}`, new Promise<Block>(() => undefined)));
  await load(cache, 'x', 11);
  expect(loading.every((block, index) => cache.get(`${index}`) === block)).toBe(true);
});

test('a load that fails is forgotten, and its error is nobody else’s', async () => {
  const cache = makeCache(100);
  const failure = new Error('cannot read');
  // Nobody waits for this one: as an unhandled rejection it would fail the test run.
  cache.put('a', Promise.reject(failure));
  const awaited = cache.put('b', Promise.reject(failure));
  await expect(awaited.loading).rejects.toBe(failure);
  expect(cache.get('a')).toBeUndefined();
  expect(cache.get('b')).toBeUndefined();
  await load(cache, 'a', 10);
  expect(cache.get('a')?.loaded?.buffer.length).toBe(10);
});

test('a block that somebody waits for stays until it was looked at, and then goes', async () => {
  const cache = makeCache(10);
  let finish: (block: Block) => void = () => undefined;
  const loading = new Promise<Block>((resolve) => {
    finish = resolve;
  });
  const cached = cache.put('a', loading);
  const seen: number[] = [];
  const uses = [1, 2].map(async (user) => {
    await cache.use(cached, (block) => {
      expect(gone).toEqual([]);
      seen.push(user, block.buffer.length);
    });
  });
  finish(makeBlock(11));
  await Promise.all(uses);
  expect(seen).toEqual([1, 11, 2, 11]);
  expect(gone).toHaveLength(1);
  expect(cache.get('a')).toBeUndefined();
});

test('a block goes also when the one who looks at it fails', async () => {
  const cache = makeCache(10);
  const cached = cache.put('a', Promise.resolve(makeBlock(11)));
  const failure = new Error('no');
  const using = cache.use(cached, () => {
    throw failure;
  });
  await expect(using).rejects.toBe(failure);
  expect(gone).toHaveLength(1);
});
