import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { looksDense } from '../../../src/core/store/density.ts';
import { createPrng } from '../../support/prng.ts';

const prng = createPrng(20);
const words = ['chunk', 'block', 'pack', 'segment', 'snapshot', 'filter', 'tree', '\n', ' = ', '(', ');', '\t'];
const text = Buffer.from(Array.from({ length: 60_000 }, () => prng.pick(words)).join(' '));

describe('bytes that do not shrink', () => {
  test.each([1024, 1025, 4096, 65_536, 1_048_576])('%i random bytes are dense', (sizeBytes) => {
    expect(looksDense(prng.bytes(sizeBytes))).toBe(true);
  });

  test('what was compressed before is dense', () => {
    expect(looksDense(deflateSync(text))).toBe(true);
  });
});

describe('bytes that shrink', () => {
  test('text, zeros and a few bytes are not dense', () => {
    expect(looksDense(text)).toBe(false);
    expect(looksDense(Buffer.alloc(100_000))).toBe(false);
    expect(looksDense(prng.bytes(1023))).toBe(false);
  });

  test.each(['begin', 'middle', 'end'])('one dense part at the %s does not make a file dense', (where) => {
    const bytes = Buffer.concat([text.subarray(0, 90_000)]);
    const start = { begin: 0, middle: 30_000, end: 60_000 }[where]!;
    prng.bytes(30_000).copy(bytes, start);
    expect(looksDense(bytes)).toBe(false);
  });
});
