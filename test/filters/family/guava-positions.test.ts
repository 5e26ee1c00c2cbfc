import * as fc from 'fast-check';
import { expect } from 'vitest';

import {
  BITS_MAX,
  NARROW_BITS_MAX,
  fillNarrowPositions,
  fillWidePositions,
  remainderOf,
} from '../../../src/filters/family/guava-positions.ts';
import { positionsOfHash } from './guava-support.ts';
import { testProperty } from '../../support/property.ts';

const bitsOfAnySize = fc
  .oneof(
    fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    fc.constantFrom(2 ** 31 - 1, 2 ** 25, 2 ** 25 + 1),
    fc.integer({ min: 1, max: 1000 }),
  )
  .map((longs) => longs * 64);
const word = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1),
);

testProperty('the remainder of 63 bits is exact for every number of bits that Guava allows', (check) => {
  check(
    fc.property(word, word, bitsOfAnySize, (high, low, bits) => {
      const expected = ((BigInt(high) << 32n) | BigInt(low)) % BigInt(bits);
      expect(remainderOf(high, low, bits)).toBe(Number(expected));
    }),
    { numRuns: 3000 },
  );
  expect(remainderOf(2 ** 31, 0, BITS_MAX)).toBe(Number(2n ** 63n % BigInt(BITS_MAX)));
});

testProperty('the positions in filters of more than 2^31 bits are those of the definition', (check) => {
  check(
    fc.property(fc.tuple(word, word, word, word), bitsOfAnySize, (hash, bits) => {
      const positions = new Float64Array(40);
      fillWidePositions(Uint32Array.from(hash), bits, remainderOf(2 ** 31, 0, bits), positions);
      expect([...positions]).toEqual(positionsOfHash(Uint32Array.from(hash), 40, bits));
    }),
    { numRuns: 500 },
  );
});

testProperty('the positions in filters of fewer bits are those of the definition', (check) => {
  const narrow = fc.oneof(
    fc.integer({ min: 1, max: NARROW_BITS_MAX / 64 }).map((longs) => longs * 64),
    fc.integer({ min: 1, max: 100 }).map((longs) => longs * 64),
    fc.constantFrom(64, NARROW_BITS_MAX),
  );
  const hashes = fc.oneof(
    fc.tuple(word, word, word, word),
    // Only the carry of the lower words makes these pass 2^63.
    fc.tuple(word, word, word).map(([low, high, step]) => [low, high, step, ~high & 0x7fff_ffff]),
  );
  check(
    fc.property(hashes, narrow, (hash, bits) => {
      const positions = new Int32Array(40);
      fillNarrowPositions(Uint32Array.from(hash), bits, remainderOf(2 ** 31, 0, bits), positions);
      expect([...positions]).toEqual(positionsOfHash(Uint32Array.from(hash), 40, bits));
    }),
    { numRuns: 1000 },
  );
});
