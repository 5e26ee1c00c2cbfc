import { describe, expect, it } from 'vitest';

import { encodeCentralHeader, encodeLocalHeader, encodeZipEnd } from '../../../../src/core/format/zip/zip-headers.ts';
import type { ZipEntry } from '../../../../src/core/format/zip/zip-headers.ts';
import { bs } from '../../../support/tar-archive.ts';

const ENTRY: ZipEntry = {
  path: bs('file'),
  unixMode: 0o100_644,
  uid: 1,
  gid: 2,
  mtimeSeconds: 1_700_000_007,
  isDeflated: false,
  hasDescriptor: false,
  isLarge: false,
  crc: 7,
  sizeBytes: 3,
  storedBytes: 3,
};
const END_BYTES = 22;
const END_64_BYTES = 56 + 20 + END_BYTES;
const EXTRA_64 = 0x0001;
const EXTRA_TIME = 0x5455;

/** The extra fields behind the name of a header, by their numbers. `headerBytes`: what precedes the name. */
function extrasOf(header: Uint8Array, headerBytes: 30 | 46): Map<number, Buffer> {
  const bytes = Buffer.from(header);
  const lengthAt = headerBytes === 30 ? 26 : 28;
  const extras = new Map<number, Buffer>();
  for (let at = headerBytes + bytes.readUInt16LE(lengthAt); at < bytes.length;) {
    const end = at + 4 + bytes.readUInt16LE(at + 2);
    extras.set(bytes.readUInt16LE(at), bytes.subarray(at + 4, end));
    at = end;
  }
  return extras;
}

describe('the end of a zip archive', () => {
  it.each([
    [65_534, 0, 0, END_BYTES],
    [65_535, 0, 0, END_64_BYTES],
    [1, 0xffff_fffe, 0, END_BYTES],
    [1, 0xffff_ffff, 0, END_64_BYTES],
    [1, 0, 0xffff_ffff, END_64_BYTES],
  ])('has numbers of 8 bytes where the largest one of fewer bytes means them (%i, %i, %i)', (...given) => {
    const [count, offset, sizeBytes, expectedBytes] = given;
    const end = Buffer.from(encodeZipEnd(count, offset, sizeBytes));
    expect(end).toHaveLength(expectedBytes);
    const at = expectedBytes - END_BYTES;
    expect([8, 10].map((field) => end.readUInt16LE(at + field))).toEqual([count, count]);
    if (expectedBytes === END_BYTES) return;
    const values = [24, 32, 40, 48].map((field) => Number(end.readBigUInt64LE(field)));
    expect(values).toEqual([count, count, sizeBytes, offset]);
  });
});

describe('an entry of a zip archive', () => {
  it.each([-(2 ** 31), -1, 0, 1_700_000_007, 2 ** 31 - 1])('has the time %i in seconds', (mtimeSeconds) => {
    const extra = extrasOf(encodeLocalHeader({ ...ENTRY, mtimeSeconds }), 30).get(EXTRA_TIME);
    expect(extra!.readInt32LE(1)).toBe(mtimeSeconds);
  });

  it.each([-(2 ** 31) - 1, 2 ** 31, 2 ** 33])('has only a date if the time %i does not fit', (mtimeSeconds) => {
    const header = Buffer.from(encodeLocalHeader({ ...ENTRY, mtimeSeconds }));
    expect(extrasOf(header, 30).has(EXTRA_TIME)).toBe(false);
    const year = new Date(mtimeSeconds * 1000).getFullYear();
    expect(1980 + (header.readUInt16LE(12) >> 9)).toBe(year < 1980 || year > 2107 ? 1980 : year);
  });

  it.each([
    [0xffff_fffe, undefined],
    [0xffff_ffff, 0xffff_ffff],
    [2 ** 40, 2 ** 40],
  ])('that begins at %i is found there', (offset, inExtra) => {
    const header = Buffer.from(encodeCentralHeader(ENTRY, offset));
    expect(header.readUInt32LE(42)).toBe(Math.min(offset, 0xffff_ffff));
    const extra = extrasOf(header, 46).get(EXTRA_64);
    expect(extra && Number(extra.readBigUInt64LE(0))).toBe(inExtra);
  });
});
