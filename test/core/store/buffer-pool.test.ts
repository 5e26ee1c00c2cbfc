import { expect, test } from 'vitest';

import { BufferPool } from '../../../src/core/store/buffer-pool.ts';
import { createPrng } from '../../support/prng.ts';

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

test('buffers of all sizes share the same memory, and no two holders ever do', () => {
  const pool = new BufferPool({ sizeBytesMin: 100, splitBytes: 800 });
  const memories = new Set<ArrayBufferLike>();
  const held: { readonly buffer: Buffer; readonly mark: number }[] = [];
  const prng = createPrng(39);
  for (let mark = 0; mark < 4000; mark += 1) {
    const sizeBytes = 100 * 2 ** prng.int(4);
    const buffer = pool.take(sizeBytes - 1);
    expect(buffer.length).toBe(sizeBytes);
    buffer.fill(mark % 251);
    memories.add(buffer.buffer);
    held.push({ buffer, mark: mark % 251 });
    while (held.length > 8) {
      const [given] = held.splice(prng.int(held.length), 1);
      expect(given!.buffer.every((byte) => byte === given!.mark)).toBe(true);
      pool.give(given!.buffer);
    }
  }
  // One for each holder would be enough if all were of the largest size.
  expect(memories.size).toBeLessThanOrEqual(9);
});

test('halves of which both are free are joined again', () => {
  const pool = new BufferPool({ sizeBytesMin: 100, splitBytes: 800 });
  const parts = Array.from({ length: 8 }, () => pool.take(100));
  expect(new Set(parts.map(({ buffer }) => buffer)).size).toBe(1);
  for (const index of [3, 0, 7, 1, 2, 5, 4, 6]) pool.give(parts[index]!);
  expect(pool.take(800).buffer).toBe(parts[0]!.buffer);
});

test('a buffer that is longer than what is split has memory of its own', () => {
  const pool = new BufferPool({ sizeBytesMin: 100, splitBytes: 200 });
  const long = pool.take(300);
  expect(long.buffer.byteLength).toBe(400);
  pool.give(long);
  expect(pool.take(400)).toBe(long);
});
