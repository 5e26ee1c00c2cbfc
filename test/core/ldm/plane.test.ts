import { describe, expect, it } from 'vitest';
import { CounterArray } from '../../../src/core/ldm/counters.ts';
import { applyFlips, countFlips, flipsBetween, planeOf } from '../../../src/core/ldm/plane.ts';
import { createPrng } from '../../support/prng.ts';

const SEED = 20_261_125;

describe('planeOf', () => {
  it(`has a 1 exactly where a counter is above 0, for every m up to 100 (seed ${SEED})`, () => {
    const prng = createPrng(SEED);
    for (let positions = 1; positions <= 100; positions++) {
      const counters = new CounterArray(positions, 1);
      for (let left = positions; left > 0; left--) counters.add(prng.int(positions), 1);
      const plane = planeOf(counters);
      expect(plane.length).toBe(Math.ceil(positions / 8));
      for (let position = 0; position < plane.length * 8; position++) {
        const isTaken = position < positions && counters.countAt(position) > 0;
        expect(bitAt(plane, position), `m ${positions}, position ${position}`).toBe(Number(isTaken));
      }
    }
  });

  it('sees every value of a counter, and counters at any place in memory', () => {
    for (let offset = 0; offset < 4; offset++) {
      const memory = new Uint8Array(20).fill(0xff, 0, offset);
      const bytes = memory.subarray(offset, offset + 16);
      for (let value = 0; value < 16; value++) bytes[value] = (value << 4) | ((value * 7) & 15);
      const plane = planeOf({ bytes, positions: 31 });
      for (let position = 0; position < 31; position++) {
        const value = (bytes[position >> 1]! >> ((position & 1) * 4)) & 15;
        expect(bitAt(plane, position)).toBe(Number(value > 0));
      }
    }
  });
});

describe('flips', () => {
  it(`lead from one plane to the other and back, at any size and place in memory (seed ${SEED})`, () => {
    const prng = createPrng(SEED);
    for (let round = 0; round < 300; round++) {
      const length = prng.int(70);
      const before = prng
        .bytes(length + 8)
        .subarray(prng.int(8))
        .subarray(0, length);
      const after = Uint8Array.from(before);
      if (length > 0) for (let left = prng.int(20); left > 0; left--) after[prng.int(length)]! ^= 1 << prng.int(8);
      const flips = flipsBetween(before, after)!;
      const expected: number[] = [];
      for (let position = 0; position < length * 8; position++) {
        if (bitAt(before, position) !== bitAt(after, position)) expected.push(position);
      }
      expect([...flips]).toEqual(expected);
      expect(countFlips(before, after)).toBe(expected.length);
      expect(flipsBetween(before, after, expected.length)).toEqual(flips);
      if (expected.length > 0) expect(flipsBetween(before, after, expected.length - 1)).toBeUndefined();
      const plane = Uint8Array.from(before);
      applyFlips(plane, flips);
      expect(plane).toEqual(after);
      applyFlips(plane, flips);
      expect(plane).toEqual(Uint8Array.from(before));
    }
  });

  it('are not defined between planes of different sizes', () => {
    expect(() => flipsBetween(new Uint8Array(4), new Uint8Array(5))).toThrow('different sizes');
  });
});

function bitAt(plane: Uint8Array, position: number): number {
  return (plane[position >> 3]! >> (position & 7)) & 1;
}
