import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { DEFAULT_CHUNKER } from '../../../src/core/chunking/chunker.ts';
import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { cutSmall, smallChunksOf } from '../../../src/core/chunking/small-chunks.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

const KIB = 1024;
const small = createChunker(smallChunksOf(DEFAULT_CHUNKER)!);

testProperty('a chunk is cut like a file with its bytes, also one that is longer than the buffer', (check) => {
  const chunk = fc.record({
    seed: fc.nat(),
    sizeBytes: fc.integer({ min: 1, max: 4096 * KIB }),
    isPlain: fc.boolean(),
  });
  check(
    fc.property(chunk, ({ seed, sizeBytes, isPlain }) => {
      // In plain bytes, all chunks have the largest length.
      const bytes = isPlain ? Buffer.alloc(sizeBytes, seed) : createPrng(seed).bytes(sizeBytes);
      const parts = [...cutSmall(small, bytes)];
      expect(Buffer.concat(parts).equals(bytes)).toBe(true);
      let end = 0;
      expect(parts.map((part) => (end += part.length))).toEqual(streamCuts(small, bytes));
    }),
    { numRuns: inSoak(200, 10) },
  );
});

test('only chunks that are at least four times as large on average are cut again', () => {
  const fastCdc = (averageSizeBytes: number) =>
    ({ kind: 'fastcdc', minSizeBytes: 1, averageSizeBytes, maxSizeBytes: 2 ** 30 }) as const;
  expect(smallChunksOf(fastCdc(256 * KIB))).toMatchObject({ kind: 'fastcdc', averageSizeBytes: 64 * KIB });
  expect(smallChunksOf(fastCdc(128 * KIB))).toBeUndefined();
  expect(smallChunksOf({ kind: 'fixed', sizeBytes: 256 * KIB })).toEqual({ kind: 'fixed', sizeBytes: 64 * KIB });
  expect(smallChunksOf({ kind: 'fixed', sizeBytes: 128 * KIB })).toBeUndefined();
  // Their parts would not be in the same places of the file.
  expect(smallChunksOf({ kind: 'fixed', sizeBytes: 300 * KIB })).toBeUndefined();
});
