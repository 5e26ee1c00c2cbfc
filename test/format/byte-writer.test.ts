import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteReader } from '../../src/format/byte-reader.ts';
import { ByteWriter } from '../../src/format/byte-writer.ts';

describe('ByteWriter', () => {
  test('writes what ByteReader reads', () => {
    fc.assert(
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

  test('a value that does not fit is a programmer error', () => {
    expect(() => new ByteWriter(8).u16(65_536)).toThrow(RangeError);
    expect(() => new ByteWriter(8).u64(2 ** 53)).toThrow();
    expect(() => new ByteWriter(8).i64(1.5)).toThrow();
    expect(() => new ByteWriter(2).bytes(new Uint8Array(3))).toThrow();
    expect(() => new ByteWriter(2).latin1('abc')).toThrow();
    expect(() => new ByteWriter(2).finish()).toThrow();
  });
});
