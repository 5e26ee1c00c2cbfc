import { expect, test } from 'vitest';

import { BufferPool } from '../../src/store/buffer-pool.ts';

function makePool(): BufferPool {
  return new BufferPool({ sizeBytesMin: 100, retainedMax: 2 });
}

test('a buffer is as long as asked for, and not below the minimum', () => {
  const pool = makePool();
  expect(pool.take(10).length).toBe(100);
  expect(pool.take(100).length).toBe(100);
  expect(pool.take(101).length).toBe(101);
});

test('a buffer that was given back is used again, once', () => {
  const pool = makePool();
  const buffer = pool.take(50);
  pool.give(buffer);
  expect(pool.take(100)).toBe(buffer);
  expect(pool.take(100)).not.toBe(buffer);
});

test('the smallest that is long enough is taken', () => {
  const pool = makePool();
  const [large, small] = [pool.take(500), pool.take(100)];
  pool.give(large);
  pool.give(small);
  expect(pool.take(400)).toBe(large);
  expect(pool.take(100)).toBe(small);
});

test('one that is too short is left for others', () => {
  const pool = makePool();
  const short = pool.take(100);
  pool.give(short);
  expect(pool.take(101)).not.toBe(short);
  expect(pool.take(100)).toBe(short);
});

test('only so many are kept, and the largest goes first', () => {
  const pool = makePool();
  const [small, large, middle] = [pool.take(100), pool.take(900), pool.take(300)];
  for (const buffer of [small, large, middle]) pool.give(buffer);
  const taken = [pool.take(100), pool.take(100), pool.take(100)];
  expect(taken[0]).toBe(small);
  expect(taken[1]).toBe(middle);
  expect(taken[2]).not.toBe(large);
  expect(pool.take(900)).not.toBe(large);
});

test('no two holders ever share memory', () => {
  const pool = makePool();
  const held = Array.from({ length: 6 }, () => pool.take(100));
  for (const [index, buffer] of held.entries()) buffer.fill(index);
  expect(held.map((buffer) => buffer[99])).toEqual([0, 1, 2, 3, 4, 5]);
});
