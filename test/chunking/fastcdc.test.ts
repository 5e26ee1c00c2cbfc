import { expect, test } from 'vitest';
import { createWasmChunker } from '../../src/chunking/wasm-chunker.ts';
import { fastCdcRules } from '../../src/chunking/fastcdc.ts';
import { createPrng } from '../support/prng.ts';
import { streamCuts } from '../support/stream-cuts.ts';

test('the rules for the default sizes', () => {
  expect(
    fastCdcRules({ kind: 'fastcdc', minSizeBytes: 2 ** 18, averageSizeBytes: 2 ** 20, maxSizeBytes: 2 ** 22 }),
  ).toEqual({ normalSizeBytes: 891_289, strictBits: 22, looseBits: 18 });
});

test.each([
  [64, 4096, 65_536],
  [1024, 4096, 16_384],
  [2048, 4096, 16_384],
  [3000, 4096, 32_768],
])('with sizes %i, %i, %i the mean chunk of random bytes has the average size', (min, average, max) => {
  const chunker = createWasmChunker({
    kind: 'fastcdc',
    minSizeBytes: min,
    averageSizeBytes: average,
    maxSizeBytes: max,
  });
  const chunkCount = 4000;
  const cuts = streamCuts(chunker, createPrng(average + min).bytes(chunkCount * average));
  // 3 % from the approximation of the normal size, and the sampling error of the mean, which is about 1 %.
  expect(Math.abs(cuts.length / chunkCount - 1)).toBeLessThan(0.05);
});
