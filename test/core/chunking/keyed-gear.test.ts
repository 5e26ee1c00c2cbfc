import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { FastCdcParameters } from '../../../src/core/chunking/chunker.ts';
import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { createKeyedGear } from '../../../src/core/chunking/keyed-gear.ts';
import { exampleOf } from '../format/format-document.ts';
import { createPrng } from '../../support/prng.ts';
import { programBytes } from '../../support/program-bytes.ts';
import { streamCuts } from '../../support/stream-cuts.ts';
import { inSoak } from '../../support/soak.ts';

const AVERAGE = 1024;
const PARAMETERS: FastCdcParameters = {
  kind: 'fastcdc',
  minSizeBytes: AVERAGE / 4,
  averageSizeBytes: AVERAGE,
  maxSizeBytes: AVERAGE * 4,
};

function keyOf(seed: number): string {
  return createHash('sha256').update(`key ${seed}`).digest('hex');
}

function hex(word: bigint): string {
  return word.toString(16).padStart(16, '0');
}

test('the example of docs/format.md', () => {
  const example = JSON.parse(exampleOf('json keyed gear')) as {
    readonly key: string;
    readonly table_begins: readonly string[];
    readonly table_ends: readonly string[];
    readonly bit_order: readonly number[];
  };
  const { table, bitOrder } = createKeyedGear(Buffer.from(example.key, 'hex'));
  const words = [...table].map(hex);
  expect(words.length).toBe(256);
  expect(words.slice(0, 2)).toEqual(example.table_begins);
  expect(words.slice(-1)).toEqual(example.table_ends);
  expect(bitOrder).toEqual(example.bit_order);
});

test.each(['', '00', '00'.repeat(31), '00'.repeat(33), `${'00'.repeat(31)}xy`])('the key "%s" is refused', (key) => {
  expect(() => createChunker(PARAMETERS, key)).toThrow();
});

test('fixed chunks ignore the key', () => {
  const chunker = createChunker({ kind: 'fixed', sizeBytes: 1000 }, keyOf(1));
  expect(streamCuts(chunker, createPrng(1).bytes(2500))).toEqual([1000, 2000, 2500]);
});

test('two keys, or a key and none, agree on boundaries no more often than chance', () => {
  const data = createPrng(2).bytes(4000 * AVERAGE);
  const [first, second, plain] = [keyOf(1), keyOf(2), undefined].map(
    (key) => new Set(streamCuts(createChunker(PARAMETERS, key), data)),
  );
  const common = (a: Set<number>, b: Set<number>): number => [...a].filter((cut) => b.has(cut)).length;
  // Chance gives one in 1024 of 4000 boundaries.
  for (const [a, b] of [
    [first!, second!],
    [first!, plain!],
  ] as const)
    expect(common(a, b)).toBeLessThan(20);
});

test('every bit is equally likely at every place of the order', () => {
  const keyCount = inSoak(2000, 700);
  // By place and by bit.
  const counts = Array.from({ length: 32 }, () => new Uint32Array(32));
  for (let seed = 0; seed < keyCount; seed++) {
    const { bitOrder } = createKeyedGear(Buffer.from(keyOf(seed), 'hex'));
    expect(new Set(bitOrder).size).toBe(32);
    bitOrder.forEach((bit, place) => (counts[place]![bit - 32]! += 1));
  }
  const expected = keyCount / 32;
  const chiSquare = counts.reduce((sum, row) => row.reduce((part, n) => part + (n - expected) ** 2 / expected, sum), 0);
  // 31 x 31 degrees of freedom: 961, with a standard deviation of 44.
  expect(Math.abs(chiSquare - 961)).toBeLessThan(5 * 44);
});

describe('the lengths are distributed as without a key', () => {
  test.each([
    ['random bytes', (sizeBytes: number) => createPrng(3).bytes(sizeBytes)],
    ['the program of Node', programBytes],
  ])('%s', (_, create) => {
    const data = create(inSoak(48, 16) * 2 ** 20);
    const plain = shapeOf(lengthsOf(data, undefined));
    // Several keys: a single one may cut runs and patterns, of which a program has many, into chunks of equal lengths.
    const keyed = shapeOf([1, 2, 3, 4, 5, 6, 7, 8].flatMap((seed) => lengthsOf(data, keyOf(seed))));
    expect(Math.abs(keyed.mean / plain.mean - 1)).toBeLessThan(0.02);
    for (const [i, quantile] of keyed.quantiles.entries()) {
      expect(Math.abs(quantile - plain.quantiles[i]!)).toBeLessThan(0.05 * AVERAGE);
    }
  });
});

function lengthsOf(data: Buffer, key: string | undefined): number[] {
  return streamCuts(createChunker(PARAMETERS, key), data).map((cut, i, cuts) => cut - (cuts[i - 1] ?? 0));
}

function shapeOf(lengths: readonly number[]): { readonly mean: number; readonly quantiles: readonly number[] } {
  const sorted = lengths.toSorted((a, b) => a - b);
  return {
    mean: sorted.reduce((sum, length) => sum + length) / sorted.length,
    quantiles: [0.1, 0.25, 0.5, 0.75, 0.9].map((share) => sorted[Math.floor(share * sorted.length)]!),
  };
}
