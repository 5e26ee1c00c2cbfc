import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { ByteReader, checksumOf } from '../../../src/core/format/byte-reader.ts';
import { testProperty } from '../../support/property.ts';

describe('ByteReader', () => {
  test('reads little-endian values one after the other', () => {
    const reader = new ByteReader(
      Uint8Array.from([1, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 0, 255, 255, 255, 255, 255, 255, 255, 255]),
      'sample',
    );
    expect(reader.u8()).toBe(1);
    expect(reader.u16()).toBe(0x0102);
    expect(reader.u32()).toBe(0x01020304);
    expect(reader.u64()).toBe(0x02030405060708);
    expect(reader.remaining).toBe(8);
    expect(reader.bigU64()).toBe(2n ** 64n - 1n);
    expect(() => reader.end()).not.toThrow();
  });

  test.each([
    ['u8', 1],
    ['u16', 2],
    ['u32', 4],
    ['u64', 8],
    ['bigU64', 8],
  ] as const)('%s says where the bytes end', (method, length) => {
    const reader = new ByteReader(new Uint8Array(length + 1), 'sample', 2);
    expect(() => reader[method]()).toThrow(
      new CorruptDataError(`sample: ends at byte ${length + 1}, but ${length} bytes are needed from byte 2 on`),
    );
    expect(reader.offset).toBe(2);
  });

  test('refuses a number that would lose digits', () => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(2n ** 53n);
    expect(() => new ByteReader(bytes, 'sample').u64()).toThrow('sample: the number at byte 0 is too large');
  });

  test('a length beyond the end is an error before anything is allocated', () => {
    const reader = new ByteReader(new Uint8Array(10), 'sample');
    expect(() => reader.u32Array(0xffff_ffff)).toThrow(CorruptDataError);
    expect(() => reader.bytes(0xffff_ffff)).toThrow(CorruptDataError);
    expect(() => reader.view(0xffff_ffff)).toThrow(CorruptDataError);
  });

  testProperty('arrays are copied in both ways, from any offset', (check) => {
    check(
      fc.property(fc.array(fc.nat({ max: 0xffff_ffff }), { maxLength: 150 }), fc.nat({ max: 3 }), (values, offset) => {
        const bytes = Buffer.alloc(offset + values.length * 4);
        for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, offset + i * 4);
        expect([...new ByteReader(bytes, 'sample', offset).u32Array(values.length)]).toEqual(values);
      }),
    );
  });

  test('names a free byte that is not 0, a wrong magic and what is left over', () => {
    expect(() => new ByteReader(Uint8Array.from([0, 9]), 'sample').zeros(2)).toThrow('byte 1 must be 0, it is 9');
    expect(() => new ByteReader(Buffer.from('LDMX'), 'sample').magic('LDMP')).toThrow(
      'sample: begins with "LDMX" instead of "LDMP"',
    );
    expect(() => new ByteReader(new Uint8Array(3), 'sample').end()).toThrow('3 bytes too many');
  });
});

test('the checksum is the CRC-32 of zlib, also over pieces', () => {
  expect(checksumOf(Buffer.from('123456789'))).toBe(0xcbf43926);
  expect(checksumOf(Buffer.from('1234'), Buffer.from(''), Buffer.from('56789'))).toBe(0xcbf43926);
});
