import { murmur3 } from '../../../src/core/util/murmur3.ts';

/** Guava's loop as it is written there, with 64-bit numbers: slow, and hard to get wrong. */
export function positionsByDefinition(id: Uint8Array, hashes: number, bits: number): number[] {
  const words = new Uint32Array(4);
  murmur3(id, 0, words);
  return positionsOfHash(words, hashes, bits);
}

export function positionsOfHash(words: Uint32Array, hashes: number, bits: number): number[] {
  const half = (at: number): bigint => (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]!);
  let combined = half(0);
  return Array.from({ length: hashes }, () => {
    const position = Number((combined & (2n ** 63n - 1n)) % BigInt(bits));
    combined = BigInt.asUintN(64, combined + half(2));
    return position;
  });
}
