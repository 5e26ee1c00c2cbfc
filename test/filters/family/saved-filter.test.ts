import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { testProperty } from '../../support/property.ts';

const numbers = fc.array(fc.double(), { maxLength: 5 });
const arrays = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 });

describe('the saved form of a filter', () => {
  testProperty('gives back what was saved', (check) => {
    check(
      fc.property(numbers, arrays, (numbersIn, arraysIn) => {
        const saved = decodeSaved('cuckoo', encodeSaved('cuckoo', numbersIn, arraysIn));
        expect(saved.numbers).toEqual(numbersIn);
        expect(saved.arrays.map((array) => [...array])).toEqual(arraysIn.map((array) => [...array]));
      }),
    );
  });

  test('is read where it begins at an odd byte, and arrays begin their buffers', () => {
    const saved = encodeSaved('dibf', [1], [Uint8Array.of(1, 2, 3, 4)]);
    const shifted = new Uint8Array(saved.length + 1);
    shifted.set(saved, 1);
    const [array] = decodeSaved('dibf', shifted.subarray(1)).arrays;
    expect([array!.byteOffset, array!.buffer.byteLength]).toEqual([0, 4]);
  });

  test('refuses every truncation, every flipped bit, more bytes and another name', () => {
    const saved = encodeSaved('cuckoo', [1, 2 ** 40, 0.5], [Buffer.from('array'), new Uint8Array(0)]);
    for (let length = 0; length < saved.length; length++) {
      expect(() => decodeSaved('cuckoo', saved.subarray(0, length))).toThrow(CorruptDataError);
    }
    for (let bit = 0; bit < saved.length * 8; bit++) {
      const flipped = Uint8Array.from(saved);
      flipped[bit >>> 3]! ^= 1 << (bit & 7);
      expect(() => decodeSaved('cuckoo', flipped)).toThrow(CorruptDataError);
    }
    expect(() => decodeSaved('cuckoo', Buffer.concat([saved, Buffer.alloc(1)]))).toThrow(CorruptDataError);
    expect(() => decodeSaved('dibf', saved)).toThrow(/contains a filter of the kind "cuckoo"/);
  });

  test('refuses bytes that belong to no part, with a checksum that is right', () => {
    const body = Buffer.concat([encodeSaved('dibf', [1], [Buffer.from('array')]).subarray(0, -4), Buffer.alloc(3)]);
    const forged = Buffer.alloc(body.length + 4);
    body.copy(forged);
    forged.writeUInt32LE(crc32(body), body.length);
    expect(() => decodeSaved('dibf', forged)).toThrow(/3 bytes too many/);
  });
});
