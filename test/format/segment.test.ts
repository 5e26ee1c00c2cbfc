import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../src/errors.ts';
import { decodeSegment, encodeSegment, forEachPack } from '../../src/format/segment.ts';
import { arbPack, packOf, placeBlocks } from './arbitraries.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes } from './damage.ts';

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
  test('reads back as it was written', () => {
    fc.assert(
      fc.property(fc.array(arbPack, { maxLength: 4 }), (packs) => {
        expect(decodeSegment(encodeSegment(packs))).toEqual(packs);
      }),
    );
  });

  test('keeps its bytes', () => {
    expect(encodeSegment(SAMPLE).toString('hex')).toMatchInlineSnapshot(
      `"4c444d5345474d3101000000020000000123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef9800000000000000010000005c000000100000000c0000001e0000000200000001000000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526270a000000140000000100000002000000440000008307283a4c444d50454e4431cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd280000000000000002000000180000000000000000000000000000006fc6d57b4c444d50454e4431"`,
    );
  });

  test('what can change unnoticed is only the ids of packs, and for those the name of the segment vouches', () => {
    const footerBytes = 20 + 2 * 24 + 24;
    const idOffsets = [16, 16 + 48 + footerBytes].flatMap((start) => Array.from({ length: 32 }, (_, i) => start + i));
    expect(findSilentBytes(encodeSegment(SAMPLE), decodeSegment)).toEqual(idOffsets);
  });

  test('every truncation is reported', () => {
    expectWholeOnly(encodeSegment(SAMPLE), decodeSegment);
  });

  test('any bytes at all are read or reported', () => {
    expectNoSurprise(encodeSegment(SAMPLE), decodeSegment);
  });

  test('another version is not guessed at', () => {
    const bytes = encodeSegment(SAMPLE);
    bytes.writeUInt32LE(2, 8);
    expect(() => decodeSegment(bytes)).toThrow(UnsupportedFormatError);
  });

  test('an error names the pack', () => {
    const bytes = encodeSegment(SAMPLE);
    bytes[70]! ^= 1;
    expect(() => decodeSegment(bytes, 'index/12')).toThrow(
      new CorruptDataError(`index/12: pack ${SAMPLE[0]!.id}: wrong checksum`),
    );
  });

  test('packs can be visited one by one', () => {
    const seen: string[] = [];
    forEachPack(encodeSegment(SAMPLE), (pack) => seen.push(pack.id));
    expect(seen).toEqual(SAMPLE.map((pack) => pack.id));
  });
});
