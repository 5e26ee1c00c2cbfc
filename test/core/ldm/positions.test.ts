import { describe, expect, it } from 'vitest';
import { linkPosition } from '../../../src/core/ldm/formulas.ts';
import {
  ID_WORDS,
  linkFrom,
  linkOf,
  readIdWords,
  startOf,
  stepFrom,
  strideOf,
  writeIdWords,
  nextPrime,
} from '../../../src/core/ldm/positions.ts';
import { randomWords } from '../../../src/core/ldm/random-ids.ts';
import { ID_BYTES, randomIds } from './filter-support.ts';

const LARGEST = 2 ** 31 - 1;
const ALL_ONES = new Uint32Array(ID_WORDS).fill(0xffff_ffff);
const ALL_ZEROS = new Uint32Array(ID_WORDS);

/** How far the link positions of random ids are from uniform: chi-square in standard deviations. */
function unevenness(positions: number, hashes: number): number {
  const perPosition = 8;
  const nextWord = randomWords(positions * 100 + hashes);
  const id = new Uint32Array(ID_WORDS);
  const counts = new Uint32Array(positions);
  for (let sample = 0; sample < positions * perPosition; sample++) {
    for (let word = 0; word < ID_WORDS; word++) id[word] = nextWord();
    counts[linkOf(id, 0, positions, hashes)]!++;
  }
  let chiSquare = 0;
  for (const count of counts) chiSquare += (count - perPosition) ** 2 / perPosition;
  return (chiSquare - (positions - 1)) / Math.sqrt(2 * (positions - 1));
}

describe('positions of an id', () => {
  it('stay in range for the smallest and the largest id', () => {
    for (const positions of [2, 3, 6469, 2 ** 20, LARGEST]) {
      expect(startOf(ALL_ZEROS, 0, positions)).toBe(0);
      expect(startOf(ALL_ONES, 0, positions)).toBe(positions - 1);
      expect(strideOf(ALL_ZEROS, 0, positions)).toBe(1);
      expect(strideOf(ALL_ONES, 0, positions)).toBe(positions - 1);
    }
  });

  it('step as (position + stride) mod m, also near 2^31', () => {
    for (const positions of [2, 3, 6469, LARGEST]) {
      for (const position of [0, 1, positions >> 1, positions - 1]) {
        for (const stride of [1, positions >> 1, positions - 1]) {
          expect(stepFrom(position, stride, positions)).toBe((position + stride) % positions);
        }
      }
    }
  });

  it('are k different ones, and their sum is the link of formula (3)', () => {
    const nextWord = randomWords(3);
    const id = new Uint32Array(ID_WORDS);
    for (const positions of [47, 6469, LARGEST]) {
      for (let hashes = 1; hashes <= 32; hashes++) {
        for (let word = 0; word < ID_WORDS; word++) id[word] = nextWord();
        const start = startOf(id, 0, positions);
        const stride = strideOf(id, 0, positions);
        const values = [start];
        while (values.length < hashes) values.push(stepFrom(values.at(-1)!, stride, positions));
        expect(new Set(values).size).toBe(hashes);
        expect(linkFrom(start, stride, positions, hashes)).toBe(linkPosition(values, positions));
        expect(linkOf(id, 0, positions, hashes)).toBe(linkPosition(values, positions));
      }
    }
  });
});

describe('link positions', () => {
  it('are uniform for a prime m and every number of hashes', () => {
    for (let hashes = 1; hashes <= 32; hashes++) {
      expect(Math.abs(unevenness(nextPrime(1009), hashes)), `${hashes} hashes`).toBeLessThan(5);
    }
  });

  it('are not where m shares a factor with k, which is why m is a prime', () => {
    expect(unevenness(1008, 7)).toBeGreaterThan(100);
    expect(unevenness(1010, 5)).toBeGreaterThan(100);
    expect(unevenness(6463, 23)).toBeGreaterThan(100);
    expect(Math.abs(unevenness(6469, 23))).toBeLessThan(5);
  });
});

describe('the words of an id', () => {
  it('are read and written without change at any offset', () => {
    const ids = randomIds(3, 4);
    const words = new Uint32Array(ID_WORDS);
    const copy = new Uint8Array(ids.length);
    for (const offset of [0, 1, 20, 33, 40]) {
      readIdWords(ids, offset, words);
      expect(words[1]).toBe(new DataView(ids.buffer).getUint32(offset + 4, true));
      writeIdWords(words, 0, copy, offset);
      expect(copy.subarray(offset, offset + ID_BYTES)).toEqual(ids.subarray(offset, offset + ID_BYTES));
    }
  });
});
