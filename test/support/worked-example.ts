import type { Trace } from '../../src/filters/family/trace.ts';

/**
 * The example of lectures and surveys about Bloom filters (J. D. Ullman's notes on data streams): m = 11, the keys 25,
 * 159 and 585, and two hash functions. h1 takes every second bit of a number, beginning with the lowest, and h2 the
 * others; both as a number, modulo 11.
 */
export const EXAMPLE_KEYS: readonly number[] = [25, 159, 585];
const SIZE = 11;

function everySecondBit(key: number, first: 0 | 1): number {
  const bits = key.toString(2).split('').toReversed();
  const taken = bits.filter((_, index) => index % 2 === first).toReversed();
  return Number.parseInt(taken.join('') || '0', 2);
}

function positionsOf(key: number): [number, number] {
  return [everySecondBit(key, 0) % SIZE, everySecondBit(key, 1) % SIZE];
}

/** What a query for a key reads in the filter of the example. */
export function traceOfExample(key: number): Trace {
  const taken = new Set(EXAMPLE_KEYS.flatMap((added) => positionsOf(added)));
  return {
    hashes: [
      ['in binary', key.toString(2)],
      ['odd bits', String(everySecondBit(key, 0))],
      ['even bits', String(everySecondBit(key, 1))],
    ],
    rule: 'h1 is the number of the odd bits, and h2 that of the even ones, modulo m',
    positions: positionsOf(key),
    unit: 'bit',
    arrays: [{ size: SIZE, valueAt: (position) => Number(taken.has(position)) }],
  };
}
