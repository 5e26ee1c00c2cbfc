import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { decodeSegment, encodeSegment, forEachPack } from '../../../src/core/format/segment.ts';
import { arbPack, packOf, placeBlocks } from './arbitraries.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const NONCE = Buffer.alloc(16, 0xee);

const SAMPLE = [
  packOf(
    placeBlocks([
      {
        codec: 'zstd',
        rawBytes: 30,
        storedBytes: 12,
        chunkIds: Uint8Array.from({ length: 40 }, (_, i) => i),
        chunkLengths: Uint32Array.of(10, 20),
      },
    ]),
    { id: '0123456789abcdef'.repeat(4), kind: 'data' },
  ),
  packOf([], { id: 'cd'.repeat(32), kind: 'tree' }),
];

describe('segment', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(fc.array(arbPack, { maxLength: 4 }), (packs) => {
        expect(decodeSegment(encodeSegment(packs, NONCE))).toEqual(packs);
      }),
    );
  });

  test('keeps its bytes', () => {
    expect(encodeSegment(SAMPLE, NONCE).toString('hex')).toMatchInlineSnapshot(
      `"4c444d5345474d310200000002000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefa800000000000000010000005c000000200000000c0000001e0000000200000001000000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526270a00000014000000010000000200000044000000b08e31114c444d50454e4431cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd380000000000000002000000180000000000000000000000000000006fc6d57b4c444d50454e4431"`,
    );
  });

  test('only the nonce and the ids of packs can change unnoticed, and the name of the segment covers those', () => {
    const footerBytes = 20 + 2 * 24 + 24;
    const ids = [32, 32 + 48 + footerBytes].flatMap((start) => Array.from({ length: 32 }, (_, i) => start + i));
    const nonce = Array.from({ length: 16 }, (_, i) => 16 + i);
    expect(findSilentBytes(encodeSegment(SAMPLE, NONCE), decodeSegment)).toEqual([...nonce, ...ids]);
  });

  test('every truncation is reported', () => {
    expectWholeOnly(encodeSegment(SAMPLE, NONCE), decodeSegment);
  });

  testProperty('any bytes at all are read or reported', (check) => {
    expectNoSurprise(check, encodeSegment(SAMPLE, NONCE), decodeSegment);
  });

  test('another version is not guessed at', () => {
    const bytes = encodeSegment(SAMPLE, NONCE);
    bytes.writeUInt32LE(4, 8);
    expect(() => decodeSegment(bytes)).toThrow(UnsupportedFormatError);
  });

  test('version 1, without a nonce, is read', () => {
    const bytes = encodeSegment(SAMPLE, NONCE);
    bytes.writeUInt32LE(1, 8);
    const old = Buffer.concat([bytes.subarray(0, 16), bytes.subarray(32)]);
    expect(decodeSegment(old)).toEqual(SAMPLE);
  });

  test('an error names the pack', () => {
    const bytes = encodeSegment(SAMPLE, NONCE);
    bytes[86]! ^= 1;
    expect(() => decodeSegment(bytes, 'index/12')).toThrow(
      new CorruptDataError(`index/12: pack ${SAMPLE[0]!.id}: wrong checksum`),
    );
  });

  test('packs can be visited one by one', () => {
    const seen: string[] = [];
    forEachPack(encodeSegment(SAMPLE, NONCE), (pack) => seen.push(pack.id));
    expect(seen).toEqual(SAMPLE.map((pack) => pack.id));
  });
});
