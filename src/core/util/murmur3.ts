/**
 * MurmurHash3 x64 128 (Austin Appleby, public domain, `MurmurHash3.cpp` of SMHasher), on 32-bit words: JavaScript
 * numbers lose the upper bits of a 64-bit product, and BigInt is tens of times slower. A 64-bit value is a pair `low`,
 * `high`.
 */

// Stored as signed words, because V8 keeps other values as doubles and converts them at every use.
const C1_LOW: number = 0x1142_53d5 | 0;
const C1_HIGH: number = 0x87c3_7b91 | 0;
const C2_LOW: number = 0x2745_937f | 0;
const C2_HIGH: number = 0x4cf5_ad43 | 0;
const FMIX1_LOW: number = 0xed55_8ccd | 0;
const FMIX1_HIGH: number = 0xff51_afd7 | 0;
const FMIX2_LOW: number = 0x1a85_ec53 | 0;
const FMIX2_HIGH: number = 0xc4ce_b9fe | 0;
const BLOCK_BYTES = 16;
const TWO_POW_32 = 2 ** 32;

/** Hashes `id` with a 32-bit seed into `out`: low and high word of the first half, then of the second. */
export function murmur3(id: Uint8Array, seed: number, out: Uint32Array): void {
  const length = id.length;
  let low1 = seed | 0;
  let high1 = 0;
  let low2 = low1;
  let high2 = 0;
  for (let at = 0; at < length; at += BLOCK_BYTES) {
    const isWhole = length - at >= BLOCK_BYTES;
    // h1 ^= rotl(k1 * c1, 31) * c2; here and below, bytes past the end count as zeros
    let low = wordUpTo(id, at, length);
    let high = productHigh(low, wordUpTo(id, at + 4, length), C1_LOW, C1_HIGH);
    low = Math.imul(low, C1_LOW);
    let turned = (low << 31) | (high >>> 1);
    high1 ^= productHigh(turned, (high << 31) | (low >>> 1), C2_LOW, C2_HIGH);
    low1 ^= Math.imul(turned, C2_LOW);
    if (isWhole) {
      // h1 = (rotl(h1, 27) + h2) * 5 + 0x52dce729
      turned = (low1 << 27) | (high1 >>> 5);
      const sum = (turned + low2) | 0;
      high = ((high1 << 27) | (low1 >>> 5)) + high2 + carryOf(turned, low2, sum);
      high1 = (Math.imul(high, 5) + Math.floor(((sum >>> 0) * 5 + 0x52dc_e729) / TWO_POW_32)) | 0;
      low1 = (Math.imul(sum, 5) + 0x52dc_e729) | 0;
    } else if (length - at <= 8) break;

    // h2 ^= rotl(k2 * c2, 33) * c1
    low = wordUpTo(id, at + 8, length);
    high = productHigh(low, wordUpTo(id, at + 12, length), C2_LOW, C2_HIGH);
    low = Math.imul(low, C2_LOW);
    turned = (high << 1) | (low >>> 31);
    high2 ^= productHigh(turned, (low << 1) | (high >>> 31), C1_LOW, C1_HIGH);
    low2 ^= Math.imul(turned, C1_LOW);
    if (isWhole) {
      // h2 = (rotl(h2, 31) + h1) * 5 + 0x38495ab5
      turned = (low2 << 31) | (high2 >>> 1);
      const sum = (turned + low1) | 0;
      high = ((high2 << 31) | (low2 >>> 1)) + high1 + carryOf(turned, low1, sum);
      high2 = (Math.imul(high, 5) + Math.floor(((sum >>> 0) * 5 + 0x3849_5ab5) / TWO_POW_32)) | 0;
      low2 = (Math.imul(sum, 5) + 0x3849_5ab5) | 0;
    }
  }
  finish(low1 ^ length, high1, low2 ^ length, high2, out);
}

/** h1 += h2, h2 += h1, `avalanche` of both, then the two sums again. */
function finish(low1: number, high1: number, low2: number, high2: number, out: Uint32Array): void {
  const sum1 = (low1 + low2) | 0;
  const sumHigh1 = (high1 + high2 + carryOf(low1, low2, sum1)) | 0;
  const sum2 = (sum1 + low2) | 0;
  avalanche(sum1, sumHigh1, out, 0);
  avalanche(sum2, (sumHigh1 + high2 + carryOf(sum1, low2, sum2)) | 0, out, 2);
  const last1 = (out[0]! + out[2]!) | 0;
  out[1] = out[1]! + out[3]! + carryOf(out[0]!, out[2]!, last1);
  out[0] = last1;
  const last2 = (last1 + out[2]!) | 0;
  out[3] = out[1] + out[3]! + carryOf(last1, out[2]!, last2);
  out[2] = last2;
}

/**
 * fmix64 of the original: flipping an input bit flips each output bit with a probability of one half. After a 64-bit
 * shift by 33, the lower word is the upper word shifted by 1.
 */
export function avalanche(low: number, high: number, out: Uint32Array, half: number): void {
  let mixed = low ^ (high >>> 1);
  const firstHigh = productHigh(mixed, high, FMIX1_LOW, FMIX1_HIGH);
  mixed = Math.imul(mixed, FMIX1_LOW) ^ (firstHigh >>> 1);
  const secondHigh = productHigh(mixed, firstHigh, FMIX2_LOW, FMIX2_HIGH);
  out[half] = Math.imul(mixed, FMIX2_LOW) ^ (secondHigh >>> 1);
  out[half + 1] = secondHigh;
}

/** The carry (0 or 1) of adding two words whose sum modulo 2^32 is `sum`. */
export function carryOf(one: number, other: number, sum: number): number {
  return ((one & other) | ((one | other) & ~sum)) >>> 31;
}

/** The upper word of a 64-bit product modulo 2^64; the lower word is `Math.imul(aLow, bLow)`. */
export function productHigh(aLow: number, aHigh: number, bLow: number, bHigh: number): number {
  const a0 = aLow & 0xffff;
  const a1 = aLow >>> 16;
  const b0 = bLow & 0xffff;
  const b1 = bLow >>> 16;
  // Each of these sums stays below 2^32, so its bits are exact even if it appears negative.
  const middle = (Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16)) | 0;
  const other = (Math.imul(a0, b1) + (middle & 0xffff)) | 0;
  const carried = Math.imul(a1, b1) + (middle >>> 16) + (other >>> 16);
  return (carried + Math.imul(aLow, bHigh) + Math.imul(aHigh, bLow)) | 0;
}

function wordAt(id: Uint8Array, at: number): number {
  return id[at]! | (id[at + 1]! << 8) | (id[at + 2]! << 16) | (id[at + 3]! << 24);
}

/** Like `wordAt`, but reads zeros at and after `end`. */
export function wordUpTo(id: Uint8Array, at: number, end: number): number {
  if (at + 4 <= end) return wordAt(id, at);
  let word = 0;
  for (let index = at; index < end; index++) word |= id[index]! << ((index - at) << 3);
  return word;
}
