import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import {
  BLOCK_HEADER_BYTES,
  blockBytes,
  decodeBlockHeader,
  decodeBlockPrefix,
  encodeBlockHeader,
} from '../../../src/core/format/block.ts';
import type { BlockHeader } from '../../../src/core/format/block.ts';
import { MAX_BLOCK_CHUNKS, MAX_BLOCK_RAW_BYTES, MAX_BLOCK_STORED_BYTES } from '../../../src/core/format/constants.ts';
import { arbBlock, arbKind } from './arbitraries.ts';
import { expectNoSurprise, findSilentBytes, isReported } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const SAMPLE: BlockHeader = {
  kind: 'tree',
  codec: 'zstd',
  rawBytes: 300,
  storedBytes: 77,
  chunkLengths: Uint32Array.from([100, 200]),
};

function withField(offset: number, value: number): Buffer {
  const bytes = encodeBlockHeader(SAMPLE);
  bytes.writeUInt32LE(value, offset);
  return bytes;
}

describe('block header', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(arbKind, arbBlock, (kind, { codec, rawBytes, storedBytes, chunkLengths }) => {
        const header = { kind, codec, rawBytes, storedBytes, chunkLengths };
        const bytes = encodeBlockHeader(header);
        expect(bytes.length).toBe(blockBytes(chunkLengths.length, 0));
        expect(decodeBlockHeader(bytes)).toEqual(header);
        expect(decodeBlockHeader(Buffer.concat([bytes, Buffer.from('payload')]))).toEqual(header);
        const prefix = { kind, codec, rawBytes, storedBytes, chunkCount: chunkLengths.length };
        expect(decodeBlockPrefix(bytes.subarray(0, BLOCK_HEADER_BYTES))).toEqual(prefix);
      }),
    );
  });

  test('keeps its bytes', () => {
    expect(encodeBlockHeader(SAMPLE).toString('hex')).toMatchInlineSnapshot(
      `"4c444d4201020000020000002c0100004d000000be46abb464000000c8000000"`,
    );
  });

  test('every changed byte is reported', () => {
    expect(findSilentBytes(encodeBlockHeader(SAMPLE), decodeBlockHeader)).toEqual([]);
  });

  test('every truncation is reported', () => {
    const bytes = encodeBlockHeader(SAMPLE);
    for (let length = 0; length < bytes.length; length++) {
      expect(isReported(() => decodeBlockHeader(bytes.subarray(0, length)))).toBe(true);
    }
  });

  testProperty('any bytes at all are read or reported', (check) => {
    expectNoSurprise(check, encodeBlockHeader(SAMPLE), decodeBlockHeader);
    expectNoSurprise(check, encodeBlockHeader(SAMPLE), decodeBlockPrefix);
  });

  test.each([
    ['too many chunks', 8, MAX_BLOCK_CHUNKS + 1, 'block: a block cannot have 1048577 chunks'],
    ['no chunks', 8, 0, 'block: a block cannot have 0 chunks'],
    ['more chunks than bytes', 8, 301, 'block: 300 raw bytes are too few for 301 chunks'],
    ['too many raw bytes', 12, MAX_BLOCK_RAW_BYTES + 1, 'block: 1140850689 raw bytes are more than a block may hold'],
    ['too many stored bytes', 16, MAX_BLOCK_STORED_BYTES + 1, 'block: a block cannot have 1157627905 stored bytes'],
    ['no stored bytes', 16, 0, 'block: a block cannot have 0 stored bytes'],
  ])('%s: the first 24 bytes are enough to refuse it', (_, offset, value, message) => {
    const bytes = withField(offset, value).subarray(0, BLOCK_HEADER_BYTES);
    expect(() => decodeBlockPrefix(bytes)).toThrow(new CorruptDataError(message));
  });

  test('the largest block is within the limits', () => {
    const header = { ...SAMPLE, rawBytes: MAX_BLOCK_RAW_BYTES, chunkLengths: Uint32Array.of(MAX_BLOCK_RAW_BYTES) };
    expect(decodeBlockHeader(encodeBlockHeader(header))).toEqual(header);
  });

  test('without a codec both lengths are the same', () => {
    expect(() => encodeBlockHeader({ ...SAMPLE, codec: 'raw' })).toThrow('300 raw bytes are stored as 77');
  });

  test('lengths that do not add up are a programmer error', () => {
    expect(() => encodeBlockHeader({ ...SAMPLE, rawBytes: 301 })).toThrow('add up to 300 bytes instead of 301');
    expect(() => encodeBlockHeader({ ...SAMPLE, chunkLengths: Uint32Array.of(300, 0) })).toThrow('chunk 1 is empty');
  });
});
