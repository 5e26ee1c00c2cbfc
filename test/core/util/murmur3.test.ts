import { describe, expect, test } from 'vitest';

import { murmur3 } from '../../../src/core/util/murmur3.ts';

function digest(bytes: Uint8Array, seed: number): Buffer {
  const words = new Uint32Array(4);
  murmur3(bytes, seed, words);
  const result = Buffer.alloc(16);
  for (const [index, word] of words.entries()) result.writeUInt32LE(word, index * 4);
  return result;
}

describe('MurmurHash3 x64 128', () => {
  // The whole of SMHasher's `VerificationTest`: keys of every length from 0 to 255, each with another seed.
  test('gives the verification value that SMHasher lists for it', () => {
    const key = Uint8Array.from({ length: 256 }, (_, index) => index);
    const digests = Array.from({ length: 256 }, (_, length) => digest(key.subarray(0, length), 256 - length));
    expect(digest(Buffer.concat(digests), 0).readUInt32LE(0)).toBe(0x6384_ba69);
  });

  test.each([
    ['', 0, '00000000000000000000000000000000'],
    ['hello', 0, '029bbd41b3a7d8cb191dae486a901e5b'],
    ['The quick brown fox jumps over the lazy dog', 0, '6c1b07bc7bbc4be347939ac4a93c437a'],
  ])('hashes %j with seed %d', (text, seed, expected) => {
    expect(digest(Buffer.from(text), seed).toString('hex')).toBe(expected);
  });

  test('takes a part of a larger buffer, and a seed of 32 bits', () => {
    const whole = Buffer.from('...the id...');
    expect(digest(whole.subarray(3, 9), 0xffff_ffff)).toEqual(digest(Buffer.from('the id'), 0xffff_ffff));
    expect(digest(Buffer.from('the id'), 0xffff_ffff)).not.toEqual(digest(Buffer.from('the id'), 0x7fff_ffff));
  });
});
