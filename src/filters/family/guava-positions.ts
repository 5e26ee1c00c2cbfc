import { carryOf } from '../../core/util/murmur3.ts';
import type { GuavaStrategy } from './guava-form.ts';
import { hexOfHalf, type Trace } from './trace.ts';

/*
 * Computes the positions of the strategies of Guava. By MURMUR128_MITZ_64 they are ((hash1 + i hash2) mod 2^63) mod m
 * for i = 0 to k - 1, where hash1 and hash2 are the halves of MurmurHash3 x64 128 with seed 0. No 64-bit numbers are
 * needed: two words track the sums modulo 2^63 to detect wrapping, and doubles hold the remainders modulo m.
 */

/** Up to this number of bits, positions use signed 32-bit operators. */
export const NARROW_BITS_MAX: number = 2 ** 31 - 64;
/** The limit of Guava, 2^31 - 1 longs. `remainderOf` relies on it, because m 2^16 must be exact. */
export const BITS_MAX: number = (2 ** 31 - 1) * 64;

/** Positions of the older strategy are below 2^31, so further bits would stay 0 and the rate would be wrong. */
export const OLDER_BITS_MAX: number = 2 ** 31;

const TWO_POW_16 = 2 ** 16;

/**
 * Returns (high 2^32 + low) modulo `bits`. `low` is an unsigned word and `high` at most 2^32. Exact for `bits` up to
 * BITS_MAX.
 */
export function remainderOf(high: number, low: number, bits: number): number {
  let rest = high - Math.floor(high / bits) * bits;
  // Dividends stay below 2^53, so rounding cannot raise the quotient to the next integer.
  rest = rest * TWO_POW_16 + (low >>> 16);
  rest -= Math.floor(rest / bits) * bits;
  rest = rest * TWO_POW_16 + (low & 0xffff);
  return rest - Math.floor(rest / bits) * bits;
}

/** Computes all positions of a hash, for at most NARROW_BITS_MAX bits; `wrap` is 2^63 modulo `bits`. */
export function fillNarrowPositions(hash: Uint32Array, bits: number, wrap: number, positions: Int32Array): void {
  let low = hash[0]! | 0;
  let high = hash[1]! & 0x7fff_ffff;
  const stepLow = hash[2]! | 0;
  const stepHigh = hash[3]! & 0x7fff_ffff;
  let position = remainderOf(high, hash[0]!, bits) | 0;
  const step = remainderOf(stepHigh, hash[2]!, bits) | 0;
  const advance = step - bits;
  const atWrap = addNarrow(step, -wrap, bits) - step;
  for (let index = 0; index < positions.length; index++) {
    positions[index] = position;
    const sum = (low + stepLow) | 0;
    const sumHigh = (high + stepHigh + carryOf(low, stepLow, sum)) | 0;
    low = sum;
    high = sumHigh & 0x7fff_ffff;
    // The sign bit of the sum is bit 63: the sum has passed 2^63.
    position = addNarrow(position, advance + (atWrap & (sumHigh >> 31)), bits);
  }
}

/**
 * Reduces a sum that is at least -bits modulo `bits`, without a branch. The branch would be random, and mispredicting
 * it half of the time doubles the cost.
 */
function addNarrow(position: number, advance: number, bits: number): number {
  const next = (position + advance) | 0;
  return next + (bits & (next >> 31));
}

/** Computes all positions of a hash, for up to BITS_MAX bits; `wrap` is 2^63 modulo `bits`. */
export function fillWidePositions(hash: Uint32Array, bits: number, wrap: number, positions: Float64Array): void {
  let low = hash[0]!;
  let high = hash[1]! & 0x7fff_ffff;
  const stepLow = hash[2]!;
  const stepHigh = hash[3]! & 0x7fff_ffff;
  const step = remainderOf(stepHigh, stepLow, bits);
  let position = remainderOf(high, low, bits);
  for (let index = 0; index < positions.length; index++) {
    positions[index] = position;
    low += stepLow;
    high += stepHigh + (low > 0xffff_ffff ? 1 : 0);
    low >>>= 0;
    position += step;
    if (high > 0x7fff_ffff) {
      high -= 2 ** 31;
      position -= wrap;
    }
    if (position >= bits) position -= bits;
    else if (position < 0) position += bits;
  }
}

/**
 * Computes all positions of a hash by the older strategy MURMUR128_MITZ_32: hash1 + i hash2 for i = 1 to k with the
 * halves of the first 64 bits of the hash and sums of 32 bits; a negative sum is inverted bit by bit. So positions are
 * below 2^31, even in larger filters.
 */
export function fillOlderPositions(hash: Uint32Array, bits: number, positions: Int32Array): void {
  const step = hash[1]! | 0;
  let sum = hash[0]! | 0;
  for (let index = 0; index < positions.length; index++) {
    sum = (sum + step) | 0;
    positions[index] = (sum < 0 ? ~sum : sum) % bits;
  }
}

/** The hash of an id and how its positions follow from it, in words. */
export function traceOfGuava(strategy: GuavaStrategy, hash: Uint32Array): Pick<Trace, 'hashes' | 'rule' | 'unit'> {
  if (strategy === 'MURMUR128_MITZ_32') {
    const [first, second] = [hash[0]! | 0, hash[1]! | 0];
    return {
      hashes: [
        ['start', String(first)],
        ['stride', String(second)],
      ],
      rule: 'h1 is start + stride, and each further one a stride later, in 32 bits; if negative, inverted; then modulo m',
      unit: 'bit',
    };
  }
  return {
    hashes: [
      ['start', hexOfHalf(hash, 0)],
      ['stride', hexOfHalf(hash, 2)],
    ],
    rule: 'h1 is the start, and each further one is a stride later, modulo 2^63 and then modulo m',
    unit: 'bit',
  };
}
