import { describe, expect, test } from 'vitest';
import { DEFAULT_CHUNKER } from '../../../src/core/chunking/chunker.ts';
import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { UsageError } from '../../../src/core/errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

function createFastCdc(minSizeBytes: number, averageSizeBytes: number, maxSizeBytes: number): void {
  createChunker({ kind: 'fastcdc', minSizeBytes, averageSizeBytes, maxSizeBytes });
}

test('the default cuts between 256 KiB and 4 MiB, from a buffer of 8 MiB', () => {
  const chunker = createChunker(DEFAULT_CHUNKER);
  expect(chunker.minSizeBytes).toBe(256 * KIB);
  expect(chunker.maxSizeBytes).toBe(4 * MIB);
  expect(chunker.buffer.length).toBe(8 * MIB);
});

test('fixed chunks of 64 MiB get a buffer of twice that', () => {
  const chunker = createChunker({ kind: 'fixed', sizeBytes: 64 * MIB });
  expect([chunker.minSizeBytes, chunker.maxSizeBytes]).toEqual([64 * MIB, 64 * MIB]);
  expect(chunker.buffer.length).toBe(128 * MIB);
});

test.each([
  [64, 128, 129],
  [256 * KIB, MIB, 4 * MIB],
  [MIB - 1, MIB, MIB + 1],
  [64, 512 * MIB, GIB],
])('fastcdc accepts %i, %i, %i', (min, average, max) => {
  expect(() => createFastCdc(min, average, max)).not.toThrow();
});

describe('wrong parameters are usage errors with a hint', () => {
  test.each([
    ['minimum below the hash window', 63, 128, 256],
    ['minimum equal to the average', 128, 128, 256],
    ['minimum above the average', 200, 128, 256],
    ['average equal to the maximum', 64, 128, 128],
    ['average above the maximum', 64, 256, 128],
    ['average not a power of two', 64, 1000, 4000],
    ['maximum above 1 GiB', 64, 128, GIB + 1],
    ['a fraction', 64.5, 128, 256],
    ['not a number', 64, NaN, 256],
    ['endless', 64, 128, Infinity],
    ['negative', -64, 128, 256],
  ])('fastcdc: %s', (_, min, average, max) => {
    expectUsageError(() => createFastCdc(min, average, max));
  });

  test.each([0, -1, 63, 1.5, NaN, Infinity, GIB + 1])('fixed: %d bytes', (sizeBytes) => {
    expectUsageError(() => createChunker({ kind: 'fixed', sizeBytes }));
  });
});

function expectUsageError(action: () => void): void {
  expect(action).toThrow(UsageError);
  expect(action).toThrow(expect.objectContaining({ hint: expect.stringContaining('') as string }));
}
