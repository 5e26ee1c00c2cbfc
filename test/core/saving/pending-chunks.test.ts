import { expect, test } from 'vitest';

import { PendingChunks } from '../../../src/core/saving/pending-chunks.ts';
import { createPrng } from '../../support/prng.ts';

test('pending chunks are found by their ids alone, however many there are', () => {
  const prng = createPrng(20261122);
  const pending = new PendingChunks();
  const count = 50_000;
  const ids = prng.bytes(20 * count);
  const absent = prng.bytes(20 * 1000);
  expect(pending.lengthOf(ids, 0)).toBeUndefined();
  for (let index = 0; index < count; index += 1) {
    pending.add(ids.subarray(20 * index, 20 * index + 20), index === 7 ? 0 : index);
  }
  for (let index = 0; index < count; index += 1) {
    expect(pending.lengthOf(ids, 20 * index)).toBe(index === 7 ? 0 : index);
  }
  for (let offset = 0; offset < absent.length; offset += 20) expect(pending.lengthOf(absent, offset)).toBeUndefined();
});

test('ids that differ in a single bit are different chunks', () => {
  const pending = new PendingChunks();
  const id = createPrng(1).bytes(20);
  pending.add(id, 1);
  for (let bit = 0; bit < 160; bit += 1) {
    const other = Buffer.from(id);
    other[bit >> 3]! ^= 1 << (bit & 7);
    expect(pending.lengthOf(other, 0)).toBeUndefined();
    pending.add(other, 2 + bit);
  }
  expect(pending.lengthOf(id, 0)).toBe(1);
});
