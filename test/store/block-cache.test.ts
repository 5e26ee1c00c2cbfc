import { expect, test } from 'vitest';

import { BlockCache } from '../../src/store/block-cache.ts';

async function load(cache: BlockCache, key: string, sizeBytes: number): Promise<void> {
  await cache.put(key, Promise.resolve(new Uint8Array(sizeBytes))).loading;
}

test('a block is there while it is loaded and at hand afterwards', async () => {
  const cache = new BlockCache(100);
  let finish: (raw: Uint8Array) => void = () => undefined;
  const put = cache.put(
    'a',
    new Promise((resolve) => {
      finish = resolve;
    }),
  );
  expect(cache.get('a')).toBe(put);
  expect(put.raw).toBeUndefined();
  const raw = new Uint8Array(10);
  finish(raw);
  await put.loading;
  expect(cache.get('a')?.raw).toBe(raw);
  expect(cache.get('b')).toBeUndefined();
});

test('the least recently used blocks go when there are too many bytes', async () => {
  const cache = new BlockCache(100);
  for (const key of ['a', 'b', 'c']) await load(cache, key, 30);
  cache.get('a');
  await load(cache, 'd', 30);
  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key) !== undefined)).toEqual(['a', 'c', 'd']);
  await load(cache, 'e', 100);
  expect(['a', 'c', 'd', 'e'].filter((key) => cache.get(key) !== undefined)).toEqual(['e']);
});

test('a block that is larger than the cache is handed out and not kept', async () => {
  const cache = new BlockCache(100);
  await load(cache, 'a', 50);
  const large = cache.put('b', Promise.resolve(new Uint8Array(101)));
  await large.loading;
  expect(large.raw?.length).toBe(101);
  expect(cache.get('b')).toBeUndefined();
  // What it pushed out is forgotten with its bytes: there is room for 100 again.
  for (const key of ['c', 'd']) await load(cache, key, 50);
  expect(['c', 'd'].filter((key) => cache.get(key) !== undefined)).toEqual(['c', 'd']);
});

test('blocks that are still loading stay, whatever their number', async () => {
  const cache = new BlockCache(10);
  const loading = Array.from({ length: 20 }, (_, index) =>
    cache.put(`${index}`, new Promise<Uint8Array>(() => undefined)),
  );
  await load(cache, 'x', 11);
  expect(loading.every((block, index) => cache.get(`${index}`) === block)).toBe(true);
});

test('a load that fails is forgotten, and its error is nobody else’s', async () => {
  const cache = new BlockCache(100);
  const failure = new Error('cannot read');
  // Nobody waits for this one: as an unhandled rejection it would fail the test run.
  cache.put('a', Promise.reject(failure));
  const awaited = cache.put('b', Promise.reject(failure));
  await expect(awaited.loading).rejects.toBe(failure);
  expect(cache.get('a')).toBeUndefined();
  expect(cache.get('b')).toBeUndefined();
  await load(cache, 'a', 10);
  expect(cache.get('a')?.raw?.length).toBe(10);
});
