import { expect, test } from 'vitest';

import { BufferPool } from '../../../src/core/store/buffer-pool.ts';
import { SlabPool } from '../../../src/core/store/slab-pool.ts';
import { createPrng } from '../../support/prng.ts';

const SLAB_BYTES = 1000;

function makeSlabs(): { readonly pool: BufferPool; readonly slabs: SlabPool } {
  const pool = new BufferPool({ sizeBytesMin: 100 });
  return { pool, slabs: new SlabPool(pool, SLAB_BYTES) };
}

test('parts have the size that was asked for, in shared memory of one slab while there is room', () => {
  const { slabs } = makeSlabs();
  const parts = [1, 499, 500].map((sizeBytes) => slabs.take(sizeBytes));
  expect(parts.map(({ length }) => length)).toEqual([1, 499, 500]);
  expect(parts[0]!.buffer).toBeInstanceOf(SharedArrayBuffer);
  // The pool rounds 1000 up to 1600.
  expect(new Set(parts.map(({ buffer }) => buffer)).size).toBe(1);
  expect(slabs.slabCount).toBe(1);
  expect(slabs.take(601).buffer).not.toBe(parts[0]!.buffer);
  expect(slabs.slabCount).toBe(2);
});

test('no two parts in use ever share memory, in whatever order they are given back', () => {
  const { slabs } = makeSlabs();
  const prng = createPrng(20261123);
  const used: { readonly part: Buffer; readonly mark: number }[] = [];
  for (let count = 0; count < 3000; count += 1) {
    if (used.length > 12 || (used.length > 0 && prng.int(2) === 0)) {
      const [{ part, mark }] = used.splice(prng.int(used.length), 1) as [(typeof used)[0]];
      expect(part.every((byte) => byte === mark)).toBe(true);
      slabs.give(part);
    } else {
      // Some are larger than a slab.
      const part = slabs.take(1 + prng.int(2 * SLAB_BYTES));
      part.fill(count % 256);
      used.push({ part, mark: count % 256 });
    }
  }
  for (const { part } of used) slabs.give(part);
  expect(slabs.slabCount).toBe(1);
});

test('a slab is used again when all its parts are free, and not before', () => {
  const { slabs } = makeSlabs();
  const first = [slabs.take(800), slabs.take(800)];
  const second = slabs.take(800);
  slabs.give(first[0]!);
  const third = [slabs.take(800), slabs.take(1600)];
  expect(new Set([first[0]!, second, third[1]!].map(({ buffer }) => buffer)).size).toBe(3);
  slabs.give(first[1]!);
  expect(slabs.take(1600).buffer).toBe(first[0]!.buffer);
});

test('parts that are freed at once are in the same place, which is in the cache of the processor', () => {
  const { slabs } = makeSlabs();
  const places = new Set<number>();
  for (let count = 0; count < 100; count += 1) {
    const part = slabs.take(700);
    places.add(part.byteOffset);
    slabs.give(part);
  }
  expect([...places]).toEqual([0]);
});

test('a slab goes back to the pool, and other buffers of the pool do too', () => {
  const { pool, slabs } = makeSlabs();
  const part = slabs.take(1000);
  const other = pool.take(1000);
  const next = slabs.take(1000);
  slabs.give(part);
  slabs.give(other);
  expect(pool.take(1000).buffer).toBe(other.buffer);
  expect(pool.take(1000).buffer).toBe(part.buffer);
  expect(next.buffer).not.toBe(part.buffer);
});
