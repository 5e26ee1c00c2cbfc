import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { FastCdcParameters } from '../../../src/core/chunking/chunker.ts';
import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { createPublicGear } from '../../../src/core/chunking/gear.ts';
import { createReferenceChunker } from '../../../src/core/chunking/reference-chunker.ts';
import { createKeyedGear } from '../../../src/core/chunking/keyed-gear.ts';
import { createPrng } from '../../support/prng.ts';
import { programBytes } from '../../support/program-bytes.ts';
import { testProperty } from '../../support/property.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

/**
 * An implementation of "Chunk boundaries" in docs/format.md that shares no code with the program: HKDF from HMAC, each
 * hash as a sum of 64 products, each bit tested by itself.
 */
function documentedCuts(sizes: FastCdcParameters, key: Buffer | undefined): (data: Uint8Array) => number[] {
  const { minSizeBytes: min, averageSizeBytes, maxSizeBytes: max } = sizes;
  const { table, bitOrder } = key === undefined ? documentedPublicGear() : documentedGear(key);
  const normal = Math.max(min, Math.floor((9 * averageSizeBytes - 2 * min) / 10));
  const averageBits = averageSizeBytes.toString(2).length - 1;

  function endsAt(data: Uint8Array, end: number, length: number): boolean {
    let hash = 0n;
    for (let i = 1; i <= 64; i++) hash += table[data[end - i]!]! * 2n ** BigInt(i - 1);
    const binary = hash.toString(2).padStart(64, '0').slice(-64);
    const bits = bitOrder.slice(0, length < normal ? averageBits + 2 : averageBits - 2);
    return bits.every((bit) => binary.at(63 - bit) === '0');
  }

  return (data: Uint8Array): number[] => {
    const cuts: number[] = [];
    for (let start = 0; start < data.length; start = cuts.at(-1)!) {
      let length = Math.min(min, data.length - start);
      while (length < max && start + length < data.length && !endsAt(data, start + length, length)) length += 1;
      cuts.push(start + length);
    }
    return cuts;
  };
}

interface DocumentedGear {
  readonly table: readonly bigint[];
  readonly bitOrder: readonly number[];
}

function documentedPublicGear(): DocumentedGear {
  const table = Array.from({ length: 256 }, (_, i) => {
    const z0 = (BigInt(i + 1) * 0x9e3779b97f4a7c15n) % 2n ** 64n;
    const z1 = ((z0 ^ (z0 / 2n ** 30n)) * 0xbf58476d1ce4e5b9n) % 2n ** 64n;
    const z2 = ((z1 ^ (z1 / 2n ** 27n)) * 0x94d049bb133111ebn) % 2n ** 64n;
    return z2 ^ (z2 / 2n ** 31n);
  });
  return { table, bitOrder: Array.from({ length: 32 }, (_, i) => 63 - i) };
}

function documentedGear(key: Buffer): DocumentedGear {
  const pseudorandomKey = createHmac('sha256', Buffer.alloc(32)).update(key).digest();
  let output = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  for (let counter = 1; output.length < 2304; counter++) {
    last = createHmac('sha256', pseudorandomKey).update(last).update('ldm gear').update(Buffer.of(counter)).digest();
    output = Buffer.concat([output, last]);
  }
  const words = Array.from({ length: 288 }, (_, i) => output.readBigUInt64LE(i * 8));
  const ranks = words.slice(256);
  const smallestFirst = ranks.toSorted((a, b) => (a < b ? -1 : 1));
  return { table: words.slice(0, 256), bitOrder: smallestFirst.map((rank) => 32 + ranks.indexOf(rank)) };
}

const anyKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

const anySizes: fc.Arbitrary<FastCdcParameters> = fc.constantFrom(
  { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 128, maxSizeBytes: 300 },
  { kind: 'fastcdc', minSizeBytes: 100, averageSizeBytes: 512, maxSizeBytes: 4000 },
  { kind: 'fastcdc', minSizeBytes: 1000, averageSizeBytes: 1024, maxSizeBytes: 2048 },
);

const realFiles: readonly Buffer[] = [
  readFileSync(new URL('../../../docs/format.md', import.meta.url)),
  readFileSync(new URL('../../../src/core/chunking/cdc-wasm.generated.ts', import.meta.url)),
  programBytes(2_000_000),
];

const anyRandomBytes = fc
  .tuple(fc.nat(), fc.integer({ min: 1, max: 8000 }))
  .map(([seed, sizeBytes]) => createPrng(seed).bytes(sizeBytes));
const anyRealBytes = fc
  .tuple(fc.constantFrom(...realFiles), fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 8000 }))
  .map(([file, share, sizeBytes]) => file.subarray(Math.floor(share * (file.length - 1))).subarray(0, sizeBytes));

testProperty('the cut points are the documented ones, with any key or none, for any bytes', (check) => {
  const anyBytes = fc.oneof(anyRandomBytes, anyRealBytes);
  check(
    fc.property(fc.option(anyKey, { nil: undefined }), anySizes, anyBytes, (key, sizes, data) => {
      const cuts = documentedCuts(sizes, key)(data);
      expect(streamCuts(createChunker(sizes, key?.toString('hex')), data)).toEqual(cuts);
      const gear = key === undefined ? createPublicGear() : createKeyedGear(key);
      expect(streamCuts(createReferenceChunker(sizes, gear), data)).toEqual(cuts);
    }),
    { numRuns: 40 },
  );
});
