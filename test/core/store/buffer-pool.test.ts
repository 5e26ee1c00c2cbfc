import { expect, test } from 'vitest';

import { BufferPool } from '../../../src/core/store/buffer-pool.ts';

function makePool(): BufferPool {
  return new BufferPool({ sizeBytesMin: 100 });
}

test('a buffer has room for what was asked for, in shared memory of its own', () => {
  const pool = makePool();
  for (const [sizeBytes, roomBytes] of [
    [10, 100],
    [100, 100],
    [101, 200],
    [201, 400],
  ]) {
    const buffer = pool.take(sizeBytes!);
    expect(buffer.length).toBe(roomBytes);
    expect(buffer.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(buffer.buffer.byteLength).toBe(roomBytes);
  }
});

test('a buffer that was given back is used again, once, for sizes of its class', () => {
  const pool = makePool();
  const [small, large] = [pool.take(50), pool.take(150)];
  pool.give(large);
  pool.give(small);
  expect(pool.take(201)).not.toBe(large);
  expect(pool.take(100)).toBe(small);
  expect(pool.take(100)).not.toBe(small);
  expect(pool.take(101)).toBe(large);
});

test('what was given back is all used before anything new is made', () => {
  const pool = makePool();
  const held = Array.from({ length: 20 }, () => pool.take(100));
  for (const buffer of held) pool.give(buffer);
  const again = new Set(Array.from({ length: 20 }, () => pool.take(100)));
  expect([...again].every((buffer) => held.includes(buffer))).toBe(true);
  expect(again.size).toBe(20);
});

test('no two holders ever share memory', () => {
  const pool = makePool();
  const held = Array.from({ length: 6 }, () => pool.take(100));
  for (const [index, buffer] of held.entries()) buffer.fill(index);
  expect(held.map((buffer) => buffer[99])).toEqual([0, 1, 2, 3, 4, 5]);
});

test('the free buffers of another pool are used in pieces, each by one holder', () => {
  const [pool, other] = [makePool(), makePool()];
  const long = other.take(400);
  const held = other.take(400);
  other.give(long);
  pool.adopt(other, 200);
  const pieces = [pool.take(200), pool.take(200)];
  expect(pieces.every((piece) => piece.length === 200 && piece.buffer === long.buffer)).toBe(true);
  for (const [index, piece] of pieces.entries()) piece.fill(index + 1);
  expect(pieces.map((piece) => piece[199])).toEqual([1, 2]);
  const more = [pool.take(200), other.take(400)].map(({ buffer }) => buffer);
  expect(more.every((memory) => memory !== long.buffer && memory !== held.buffer)).toBe(true);
});
