import { expect, test } from 'vitest';
import { createPublicGear } from '../../../src/core/chunking/gear.ts';

test('the public values are the published outputs of SplitMix64 with seed 0', () => {
  const { table } = createPublicGear();
  expect(table.length).toBe(256);
  expect([...table.subarray(0, 5)]).toEqual([
    0xe220a8397b1dcdafn,
    0x6e789e6aa1b965f4n,
    0x06c45d188009454fn,
    0xf88bb8a8724c81ecn,
    0x1b39896a51a8749bn,
  ]);
});

test('the public masks take the bits from the top', () => {
  expect(createPublicGear().bitOrder).toEqual(Array.from({ length: 32 }, (_, index) => 63 - index));
});

// The hash of 64 equal bytes is -gear modulo 2^64. The smallest average size asks for 5 zero bits, the default for 18.
test.each([
  ['a run of zeros', 5, 1],
  ['a run of any byte', 18, 256],
])('%s never ends a public chunk by its hash with %i zero bits', (_, zeroBits, byteCount) => {
  const { table } = createPublicGear();
  const runHashes = [...table.subarray(0, byteCount)].map((value) => BigInt.asUintN(64, -value));
  expect(runHashes.filter((hash) => hash >> BigInt(64 - zeroBits) === 0n)).toEqual([]);
});
