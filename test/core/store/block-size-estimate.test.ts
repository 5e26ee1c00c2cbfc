import { expect, test } from 'vitest';

import { blockBytes } from '../../../src/core/format/block.ts';
import { forEachChunk } from '../../../src/core/format/packed-block.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import { BlockSizeEstimate } from '../../../src/core/store/block-size-estimate.ts';

const MIB = 1024 * 1024;

function blockOf(chunkLengths: readonly number[], storedBytes: number): PackedBlock {
  const rawBytes = chunkLengths.reduce((sum, length) => sum + length, 0);
  const chunkIds = new Uint8Array(chunkLengths.length * 20);
  const sizeBytes = blockBytes(chunkLengths.length, storedBytes);
  const sizes = { offset: 16, sizeBytes, rawBytes, storedBytes };
  return { ...sizes, codec: 'zstd', chunkIds, chunkLengths: Uint32Array.from(chunkLengths) };
}

/** What is expected for each chunk, divided by the size of the block. */
function ratiosOf(estimate: BlockSizeEstimate, block: PackedBlock): number[] {
  const sizeBytes = blockBytes(block.chunkLengths.length, block.storedBytes);
  const ratios: number[] = [];
  forEachChunk(block, (_, offsetInBlock, lengthBytes, storedBytes) => {
    ratios.push(estimate.bytesFor({ offsetInBlock, lengthBytes, storedBytes }) / sizeBytes);
  });
  return ratios;
}

test('a full block is expected whole from any of its chunks, and little more', () => {
  const block = blockOf(
    Array.from({ length: 500 }, (_, index) => (4 * MIB) / 500 - (index % 7) * 100),
    1_400_000,
  );
  for (const ratio of ratiosOf(new BlockSizeEstimate(0), block)) {
    expect(ratio).toBeGreaterThanOrEqual(1);
    expect(ratio).toBeLessThan(1.1);
  }
});

test.each([
  ['incompressible', 700_000, 700_000],
  ['large', 3 * MIB, 1_000_000],
])('a chunk that is alone in its block, because it is %s, is expected exactly', (_, lengthBytes, storedBytes) => {
  expect(ratiosOf(new BlockSizeEstimate(0), blockOf([lengthBytes], storedBytes))).toEqual([1]);
});

test('the size of full blocks is learnt, whether they are smaller or larger, and small ones do not matter', () => {
  for (const mebibytes of [1, 16]) {
    const estimate = new BlockSizeEstimate(0);
    const block = blockOf(
      Array.from({ length: 64 }, () => (mebibytes * MIB) / 64),
      (mebibytes * MIB) / 3,
    );
    for (let count = 0; count < 100; count += 1) estimate.learn(block.rawBytes, 64);
    estimate.learn(1000, 2);
    estimate.learn(1000, 1);
    estimate.learn(block.rawBytes, 64);
    for (const ratio of ratiosOf(estimate, block)) expect(Math.abs(ratio - 1)).toBeLessThan(0.1);
  }
});

test('a few small blocks do not make the next full one look smaller', () => {
  const estimate = new BlockSizeEstimate(0);
  for (let count = 0; count < 20; count += 1) estimate.learn(100_000, 50);
  const block = blockOf(
    Array.from({ length: 64 }, () => (4 * MIB) / 64),
    1_400_000,
  );
  for (const ratio of ratiosOf(estimate, block)) expect(ratio).toBeGreaterThanOrEqual(1);
});
