/**
 * XXH64 (Yann Collet, xxHash specification 0.1.1), on 32-bit words like `murmur3`, because BigInt is tens of times
 * slower.
 */
import { carryOf, productHigh, wordUpTo } from './murmur3.ts';

const LANE_BYTES = 8;
const STRIPE_BYTES = 32;

/** A number of 64 bits that its methods change, modulo 2^64. */
class Word64 {
  low = 0;
  high = 0;

  set(low: number, high: number): this {
    this.low = low | 0;
    this.high = high | 0;
    return this;
  }

  add(low: number, high: number): this {
    const sum = (this.low + low) | 0;
    this.high = (this.high + high + carryOf(this.low, low, sum)) | 0;
    this.low = sum;
    return this;
  }

  multiply(low: number, high: number): this {
    this.high = productHigh(this.low, this.high, low, high);
    this.low = Math.imul(this.low, low);
    return this;
  }

  /** @param bits - 1 to 31 */
  rotate(bits: number): this {
    const { low, high } = this;
    this.low = (low << bits) | (high >>> (32 - bits));
    this.high = (high << bits) | (low >>> (32 - bits));
    return this;
  }

  mix(low: number, high: number): this {
    this.low ^= low;
    this.high ^= high;
    return this;
  }
}

// Signed words, because V8 keeps other values as doubles. Low word first.
const PRIME1 = [0x85eb_ca87 | 0, 0x9e37_79b1 | 0] as const;
const PRIME2 = [0x27d4_eb4f | 0, 0xc2b2_ae3d | 0] as const;
const PRIME3 = [0x9e37_79f9 | 0, 0x1656_67b1 | 0] as const;
const PRIME4 = [0xc2b2_ae63 | 0, 0x85eb_ca77 | 0] as const;
const PRIME5 = [0x1656_67c5 | 0, 0x27d4_eb2f | 0] as const;

const hash = new Word64();
const lane = new Word64();
const accumulators = [new Word64(), new Word64(), new Word64(), new Word64()] as const;
const ROTATIONS = [1, 7, 12, 18] as const;

/** Hashes `id` with a seed of 32 bits into `out`: the low word, then the high word. */
export function xxh64(id: Uint8Array, seed: number, out: Uint32Array): void {
  const { length } = id;
  let at = 0;
  if (length >= STRIPE_BYTES) at = hashStripes(id, seed);
  else hash.set(seed, 0).add(PRIME5[0], PRIME5[1]);
  hash.add(length, 0);
  for (; at + LANE_BYTES <= length; at += LANE_BYTES) {
    mixLane(wordUpTo(id, at, length), wordUpTo(id, at + 4, length));
    hash.rotate(27).multiply(PRIME1[0], PRIME1[1]).add(PRIME4[0], PRIME4[1]);
  }
  if (at + 4 <= length) {
    lane.set(wordUpTo(id, at, length), 0).multiply(PRIME1[0], PRIME1[1]);
    hash.mix(lane.low, lane.high).rotate(23).multiply(PRIME2[0], PRIME2[1]).add(PRIME3[0], PRIME3[1]);
    at += 4;
  }
  for (; at < length; at++) {
    lane.set(id[at]!, 0).multiply(PRIME5[0], PRIME5[1]);
    hash.mix(lane.low, lane.high).rotate(11).multiply(PRIME1[0], PRIME1[1]);
  }
  // h ^= h >>> 33, h *= prime 2, h ^= h >>> 29, h *= prime 3, h ^= h >>> 32
  hash.mix(hash.high >>> 1, 0).multiply(PRIME2[0], PRIME2[1]);
  hash.mix((hash.low >>> 29) | (hash.high << 3), hash.high >>> 29).multiply(PRIME3[0], PRIME3[1]);
  out[0] = hash.low ^ hash.high;
  out[1] = hash.high;
}

/** Hashes all whole stripes of 32 bytes, and returns where the rest begins. */
function hashStripes(id: Uint8Array, seed: number): number {
  const [one, two, three, four] = accumulators;
  one.set(seed, 0).add(PRIME1[0], PRIME1[1]).add(PRIME2[0], PRIME2[1]);
  two.set(seed, 0).add(PRIME2[0], PRIME2[1]);
  three.set(seed, 0);
  // Minus prime 1 is its complement plus 1.
  four.set(seed, 0).add(~PRIME1[0], ~PRIME1[1]).add(1, 0);
  let at = 0;
  for (; at + STRIPE_BYTES <= id.length; at += STRIPE_BYTES) {
    for (let index = 0; index < accumulators.length; index++) {
      const laneAt = at + index * LANE_BYTES;
      lane.set(wordUpTo(id, laneAt, id.length), wordUpTo(id, laneAt + 4, id.length)).multiply(PRIME2[0], PRIME2[1]);
      accumulators[index]!.add(lane.low, lane.high).rotate(31).multiply(PRIME1[0], PRIME1[1]);
    }
  }
  hash.set(0, 0);
  for (let index = 0; index < accumulators.length; index++) {
    lane.set(accumulators[index]!.low, accumulators[index]!.high).rotate(ROTATIONS[index]!);
    hash.add(lane.low, lane.high);
  }
  for (const { low, high } of accumulators) {
    mixLane(low, high);
    hash.multiply(PRIME1[0], PRIME1[1]).add(PRIME4[0], PRIME4[1]);
  }
  return at;
}

/** hash ^= rotl(lane * prime 2, 31) * prime 1 */
function mixLane(low: number, high: number): void {
  lane.set(low, high).multiply(PRIME2[0], PRIME2[1]).rotate(31).multiply(PRIME1[0], PRIME1[1]);
  hash.mix(lane.low, lane.high);
}
