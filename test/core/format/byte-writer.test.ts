import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteReader } from '../../../src/core/format/byte-reader.ts';
import { ByteWriter } from '../../../src/core/format/byte-writer.ts';
import { testProperty } from '../../support/property.ts';

describe('ByteWriter', () => {
  testProperty('writes what ByteReader reads', (check) => {
    check(
      fc.property(fc.maxSafeNat(), fc.maxSafeInteger(), (natural, integer) => {
        const writer = new ByteWriter(16);
        writer.u64(natural);
        writer.i64(integer);
        const bytes = writer.finish();
        expect(new ByteReader(bytes, 'sample').u64()).toBe(natural);
        expect(bytes.readBigInt64LE(8)).toBe(BigInt(integer));
      }),
    );
  });

  testProperty('writes any 64 bits', (check) => {
    check(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        const writer = new ByteWriter(8);
        writer.bigU64(value);
        expect(writer.finish().readBigUInt64LE()).toBe(value);
      }),
    );
  });

  test('copies bytes of any length', () => {
    for (const length of [0, 1, 40, 41, 100]) {
      const bytes = Uint8Array.from({ length }, (_, i) => i + 1);
      const writer = new ByteWriter(length + 2);
      writer.skip(1);
      writer.bytes(bytes);
      writer.u8(255);
      expect([...writer.finish()]).toEqual([0, ...bytes, 255]);
    }
  });

  test('a value that does not fit is a programmer error', () => {
    expect(() => new ByteWriter(8).u16(65_536)).toThrow(RangeError);
    expect(() => new ByteWriter(8).u64(2 ** 53)).toThrow();
    expect(() => new ByteWriter(8).i64(1.5)).toThrow();
    expect(() => new ByteWriter(2).bytes(new Uint8Array(3))).toThrow();
    expect(() => new ByteWriter(2).latin1('abc')).toThrow();
    expect(() => new ByteWriter(2).finish()).toThrow();
  });
});
