import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { xxh64 } from '../../../src/core/util/xxh64.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

function hashOf(bytes: Uint8Array, seed = 0): string {
  const words = new Uint32Array(2);
  xxh64(bytes, seed, words);
  return ((BigInt(words[1]!) << 32n) | BigInt(words[0]!)).toString(16).padStart(16, '0');
}

const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;
const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint): bigint => u64(value << bits) | (value >> (64n - bits));
const round = (sum: bigint, lane: bigint): bigint => u64(rotate(u64(sum + lane * P2), 31n) * P1);

/** The specification as it is written, with 64-bit numbers. */
function byDefinition(bytes: Buffer, seed: bigint): string {
  let at = 0;
  let hash = u64(seed + P5);
  if (bytes.length >= 32) {
    const sums = [seed + P1 + P2, seed + P2, seed, seed - P1].map(u64);
    for (; at + 32 <= bytes.length; at += 32) {
      for (const index of [0, 1, 2, 3]) sums[index] = round(sums[index]!, bytes.readBigUInt64LE(at + index * 8));
    }
    const turns = [1n, 7n, 12n, 18n];
    hash = u64(sums.map((sum, index) => rotate(sum, turns[index]!)).reduce((all, each) => all + each));
    for (const sum of sums) hash = u64((hash ^ round(0n, sum)) * P1 + P4);
  }
  hash = u64(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash = u64(rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * P1 + P4);
  }
  for (; at + 4 <= bytes.length; at += 4) {
    hash = u64(rotate(hash ^ u64(BigInt(bytes.readUInt32LE(at)) * P1), 23n) * P2 + P3);
  }
  for (; at < bytes.length; at++) hash = u64(rotate(hash ^ u64(BigInt(bytes[at]!) * P5), 11n) * P1);
  hash = u64((hash ^ (hash >> 33n)) * P2);
  hash = u64((hash ^ (hash >> 29n)) * P3);
  return (hash ^ (hash >> 32n)).toString(16).padStart(16, '0');
}

describe('XXH64', () => {
  it.each([
    ['', 'ef46db3751d8e999'],
    ['a', 'd24ec4f1a98c6e5b'],
    ['abc', '44bc2cf5ad770999'],
    ['Nobody inspects the spammish repetition', 'fbcea83c8a378bf1'],
  ])('of %j is the published value', (text, expected) => {
    expect(hashOf(Buffer.from(text))).toBe(expected);
  });

  testProperty('is what its specification says, of every length and with every seed', (check) => {
    const bytes = fc.uint8Array({ maxLength: 150 });
    check(
      fc.property(bytes, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (data, seed) => {
        expect(hashOf(data, seed)).toBe(byDefinition(Buffer.from(data), BigInt(seed)));
      }),
      { numRuns: inSoak(5000, 500) },
    );
  });
});
