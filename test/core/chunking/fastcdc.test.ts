import { expect, test } from 'vitest';
import { createWasmChunker } from '../../../src/core/chunking/wasm-chunker.ts';
import { fastCdcRules } from '../../../src/core/chunking/fastcdc.ts';
import { createPublicGear } from '../../../src/core/chunking/gear.ts';
import { createPrng } from '../../support/prng.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

const DEFAULT_SIZES = {
  kind: 'fastcdc',
  minSizeBytes: 2 ** 18,
  averageSizeBytes: 2 ** 20,
  maxSizeBytes: 2 ** 22,
} as const;

test('the rules for the default sizes', () => {
  expect(fastCdcRules(DEFAULT_SIZES, createPublicGear())).toEqual({
    normalSizeBytes: 891_289,
    strictMask: 0xffff_fc00_0000_0000n,
    looseMask: 0xffff_c000_0000_0000n,
  });
});

test('the masks take the bits in the order of the gear', () => {
  const bitOrder = [40, 63, 32, ...createPublicGear().bitOrder.filter((bit) => ![32, 40, 63].includes(bit))];
  const sizes = { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 128, maxSizeBytes: 256 } as const;
  const { strictMask, looseMask } = fastCdcRules(sizes, { ...createPublicGear(), bitOrder });
  expect(looseMask).toBe(0xe000_0101_0000_0000n);
  expect(strictMask).toBe(0xfe00_0101_0000_0000n);
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
