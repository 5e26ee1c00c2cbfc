import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FastCdcParameters } from '../../../src/core/chunking/chunker.ts';
import { createPublicGear } from '../../../src/core/chunking/gear.ts';
import type { Gear } from '../../../src/core/chunking/gear.ts';
import { createKeyedGear } from '../../../src/core/chunking/keyed-gear.ts';
import { createReferenceChunker } from '../../../src/core/chunking/reference-chunker.ts';
import { createWasmChunker } from '../../../src/core/chunking/wasm-chunker.ts';
import { runChunkerContract } from '../../contracts/chunker-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

const SIZES: FastCdcParameters = { kind: 'fastcdc', minSizeBytes: 256, averageSizeBytes: 1024, maxSizeBytes: 4096 };
const ODD_SIZES: FastCdcParameters = {
  kind: 'fastcdc',
  minSizeBytes: 1001,
  averageSizeBytes: 2048,
  maxSizeBytes: 5003,
};
const GEAR = createKeyedGear(Buffer.alloc(32, 1));

runChunkerContract('the WebAssembly chunker', (sizes) => createWasmChunker(sizes), SIZES);
runChunkerContract('the WebAssembly chunker with odd sizes', (sizes) => createWasmChunker(sizes), ODD_SIZES);
runChunkerContract('the WebAssembly chunker with a key', (sizes) => createWasmChunker(sizes, GEAR), SIZES);
runChunkerContract('the WebAssembly chunker with a key, odd sizes', (s) => createWasmChunker(s, GEAR), ODD_SIZES);

const anyParameters: fc.Arbitrary<FastCdcParameters> = fc
  .tuple(fc.integer({ min: 7, max: 11 }), fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 5000 }))
  .map(([averageBits, minShare, excess]) => ({
    kind: 'fastcdc',
    minSizeBytes: 64 + Math.floor(minShare * (2 ** averageBits - 65)),
    averageSizeBytes: 2 ** averageBits,
    maxSizeBytes: 2 ** averageBits + excess,
  }));

/** Random bytes, repeated patterns and long runs: the last two reach the maximum size, the first hardly ever. */
const anyData: fc.Arbitrary<Buffer> = fc
  .array(
    fc.record({
      seed: fc.nat(),
      sizeBytes: fc.integer({ min: 1, max: 8000 }),
      patternSizeBytes: fc.constantFrom(1, 3, 64, 500, 8000),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((runs) =>
    Buffer.concat(
      runs.map(({ seed, sizeBytes, patternSizeBytes }) =>
        Buffer.alloc(sizeBytes, createPrng(seed).bytes(Math.min(patternSizeBytes, sizeBytes))),
      ),
    ),
  );

const anyGear: fc.Arbitrary<Gear> = fc
  .option(fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map((key) => (key === null ? createPublicGear() : createKeyedGear(key)));

testProperty('the cut points are those of the reference, for any parameters, any key and any bytes', (check) => {
  check(
    fc.property(anyParameters, anyGear, anyData, (parameters, gear, data) => {
      const cuts = streamCuts(createWasmChunker(parameters, gear), data);
      expect(cuts).toEqual(streamCuts(createReferenceChunker(parameters, gear), data));
    }),
    { numRuns: 150 },
  );
});

test('addresses beyond 2 GiB work, which the largest chunks need', () => {
  const sizes = { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 1024 } as const;
  const data = createPrng(9).bytes(5000);
  const chunker = createWasmChunker({ ...sizes, maxSizeBytes: 2 ** 30 });
  const reference = createReferenceChunker({ ...sizes, maxSizeBytes: data.length });
  const startOffset = chunker.buffer.length - data.length;
  expect(startOffset + data.length).toBe(2 ** 31);
  // Only the pages that are touched cost memory.
  chunker.buffer.set(data, startOffset);
  reference.buffer.set(data);
  for (const start of [0, 1000, 2000, data.length - 100]) {
    expect(chunker.cut(startOffset + start, 2 ** 31)).toBe(reference.cut(start, data.length));
  }
});
