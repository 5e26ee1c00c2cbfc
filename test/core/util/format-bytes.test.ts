import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { formatBytes, parseSize } from '../../../src/core/util/format-bytes.ts';

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [1024 ** 2 - 1, '1.0 MiB'],
    [64 * 1024 ** 2, '64.0 MiB'],
    [5 * 1024 ** 4, '5.0 TiB'],
    [2 ** 53 - 1, '8.0 PiB'],
    [-2048, '-2.0 KiB'],
  ])('%d is %s', (sizeBytes, text) => {
    expect(formatBytes(sizeBytes)).toBe(text);
  });

  it('says what parseSize reads back to within its one decimal', () => {
    assert(
      property(integer({ min: 0, max: 2 ** 49 }), (sizeBytes) => {
        const readBack = parseSize(formatBytes(sizeBytes));
        expect(readBack).toBeDefined();
        expect(Math.abs(readBack! - sizeBytes)).toBeLessThanOrEqual(0.051 * Math.max(sizeBytes, 1));
      }),
    );
  });
});

describe('parseSize', () => {
  it.each([
    ['1048576', 1048576],
    ['64MiB', 64 * 1024 ** 2],
    ['64M', 64 * 1024 ** 2],
    ['64MB', 64_000_000],
    ['1.5 gib', 1.5 * 1024 ** 3],
    ['0', 0],
    ['7b', 7],
  ])('%s is %d bytes', (text, sizeBytes) => {
    expect(parseSize(text)).toBe(sizeBytes);
  });

  it.each(['', 'MiB', '-1', '1e6', '64 MiBs', '1 2', '9999999TiB', '0x10', 'NaN'])('refuses %j', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });
});
