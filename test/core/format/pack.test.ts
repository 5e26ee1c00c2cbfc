import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { checksumOf } from '../../../src/core/format/byte-reader.ts';
import { PACK_HEADER_BYTES_V1 } from '../../../src/core/format/constants.ts';
import {
  PACK_HEADER_BYTES,
  PACK_TRAILER_BYTES,
  decodePackFooter,
  decodePackTrailer,
  encodePackFooter,
} from '../../../src/core/format/pack.ts';
import { decodePackHeader, encodePackHeader } from '../../../src/core/format/pack-header.ts';
import { forEachChunk, shareOfBlock } from '../../../src/core/format/packed-block.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { arbBlock, arbPack, packOf, placeBlocks } from './arbitraries.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes, isReported } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const NONCE = Buffer.alloc(16, 0xee);

const ids = (count: number): Uint8Array => Uint8Array.from({ length: count * 20 }, (_, i) => i);

const SAMPLE: PackContents = packOf(
  placeBlocks([
    { codec: 'zstd', rawBytes: 30, storedBytes: 12, chunkIds: ids(2), chunkLengths: Uint32Array.of(10, 20) },
    { codec: 'raw', rawBytes: 5, storedBytes: 5, chunkIds: ids(1), chunkLengths: Uint32Array.of(5) },
  ]),
  { id: 'ab'.repeat(32), kind: 'data' },
);

const readSample = (bytes: Uint8Array): PackContents => decodePackFooter(bytes, SAMPLE);

/** A footer with one number changed and a checksum that agrees again. */
function forge(offset: number, value: number): Buffer {
  const bytes = encodePackFooter(SAMPLE.blocks);
  bytes.writeUInt32LE(value, offset);
  const checksumOffset = bytes.length - PACK_TRAILER_BYTES + 12;
  bytes.writeUInt32LE(checksumOf(bytes.subarray(0, checksumOffset)), checksumOffset);
  return bytes;
}

describe('pack header', () => {
  test('reads back as it was written', () => {
    expect(decodePackHeader(encodePackHeader('data', NONCE))).toEqual({ kind: 'data', headerBytes: 32 });
    expect(decodePackHeader(encodePackHeader('tree', NONCE))).toEqual({ kind: 'tree', headerBytes: 32 });
  });

  test('keeps its bytes', () => {
    expect(encodePackHeader('tree', NONCE).toString('hex')).toMatchInlineSnapshot(
      `"4c444d5041434b310200000002000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"`,
    );
  });

  test('every changed byte and every truncation is reported', () => {
    const bytes = encodePackHeader('data', NONCE);
    expect(bytes.length).toBe(PACK_HEADER_BYTES);
    // The nonce may be anything; the name of the pack covers it.
    expect(findSilentBytes(bytes, decodePackHeader)).toEqual(Array.from({ length: 16 }, (_, i) => 16 + i));
    for (let length = 0; length < bytes.length; length++) {
      expect(isReported(() => decodePackHeader(bytes.subarray(0, length)))).toBe(true);
    }
  });

  test('version 1, without a nonce, is read', () => {
    const bytes = encodePackHeader('tree', NONCE);
    bytes.writeUInt32LE(1, 8);
    expect(decodePackHeader(bytes.subarray(0, 16))).toEqual({ kind: 'tree', headerBytes: 16 });
  });

  test('another version is not guessed at', () => {
    const bytes = encodePackHeader('data', NONCE);
    bytes.writeUInt32LE(4, 8);
    expect(() => decodePackHeader(bytes)).toThrow(UnsupportedFormatError);
  });
});

describe('pack footer', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(arbPack, (pack) => {
        const bytes = encodePackFooter(pack.blocks);
        const { sizeBytes } = pack;
        expect(decodePackFooter(bytes, pack)).toEqual(pack);
        expect(decodePackTrailer(bytes.subarray(-PACK_TRAILER_BYTES), sizeBytes)).toEqual({
          footerBytes: bytes.length - PACK_TRAILER_BYTES,
          footerOffset: sizeBytes - bytes.length,
        });
      }),
    );
  });

  test('keeps its bytes', () => {
    expect(encodePackFooter(SAMPLE.blocks).toString('hex')).toMatchInlineSnapshot(
      `"200000000c0000001e0000000200000001000000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526270a000000140000004c00000005000000050000000100000000000000000102030405060708090a0b0c0d0e0f1011121305000000020000000300000070000000cf76f11a4c444d50454e4431"`,
    );
  });

  test('every changed byte is reported', () => {
    expect(findSilentBytes(encodePackFooter(SAMPLE.blocks), readSample)).toEqual([]);
  });

  test('every truncation is reported', () => {
    expectWholeOnly(encodePackFooter(SAMPLE.blocks), readSample);
  });

  testProperty('any bytes at all are read or reported', (check) => {
    const bytes = encodePackFooter(SAMPLE.blocks);
    expectNoSurprise(check, bytes, readSample);
    expectNoSurprise(check, bytes.subarray(-PACK_TRAILER_BYTES), (damaged) => decodePackTrailer(damaged, 10_000));
  });

  test.each([
    ['a block that does not begin where the one before ends', 0, 33, 'block 0 begins at byte 33 instead of 32'],
    ['a payload of another length', 4, 13, 'block 1 begins at byte 76 instead of 77'],
    ['more chunks than the footer has room for', 12, 30, 'bytes are needed from byte 20 on'],
    ['chunks that do not add up', 8, 31, 'the chunks add up to 30 bytes instead of 31'],
    ['a codec that is not known', 16, 3, 'codec 3 is none of 0 (raw), 1 (zstd), 2 (borrowed)'],
  ])('%s is reported although the checksum agrees', (_, offset, value, message) => {
    expect(() => readSample(forge(offset, value))).toThrow(CorruptDataError);
    expect(() => readSample(forge(offset, value))).toThrow(message);
  });

  test('blocks must fill the pack up to the footer', () => {
    const bytes = encodePackFooter(SAMPLE.blocks);
    expect(() => decodePackFooter(bytes, { ...SAMPLE, sizeBytes: SAMPLE.sizeBytes + 1 })).toThrow(
      'the blocks end at byte 109 of the pack, but the footer begins at 110',
    );
  });

  test('a footer that cannot be in a pack of that size is refused before it is read', () => {
    const trailer = encodePackFooter(SAMPLE.blocks).subarray(-PACK_TRAILER_BYTES);
    expect(() => decodePackTrailer(trailer, 151)).toThrow(
      'a footer of 112 bytes does not fit into a pack of 151 bytes',
    );
    expect(decodePackTrailer(trailer, 152).footerOffset).toBe(PACK_HEADER_BYTES_V1);
  });

  test('blocks out of place are a programmer error', () => {
    expect(() => encodePackFooter(SAMPLE.blocks.slice(1))).toThrow('blocks follow one another');
  });
});

describe('shares of a block', () => {
  testProperty('add up to the whole block, one by one and in order', (check) => {
    check(
      fc.property(arbBlock, (fields) => {
        const [block] = placeBlocks([fields]) as [PackedBlock];
        let sum = 0;
        let expectedOffset = 0;
        let count = 0;
        forEachChunk(block, (idOffset, offset, length, storedBytes) => {
          expect(idOffset).toBe(count * 20);
          expect(offset).toBe(expectedOffset);
          expect(length).toBe(block.chunkLengths[count]);
          expect(storedBytes).toBeGreaterThanOrEqual(0);
          expectedOffset += length;
          sum += storedBytes;
          count += 1;
          expect(shareOfBlock(block, expectedOffset)).toBe(sum);
        });
        expect(count).toBe(block.chunkLengths.length);
        expect(sum).toBe(block.sizeBytes);
      }),
    );
  });
});
