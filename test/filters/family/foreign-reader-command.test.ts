import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { BinaryFuseFilter } from '../../../src/filters/family/binary-fuse.ts';
import { BloomFilter } from '../../../src/filters/family/bloom-filter.ts';
import { SplitBlockBloomFilter } from '../../../src/filters/family/split-block-bloom.ts';
import { SortedIds, encodeSortedIds } from '../../../src/filters/family/sorted-ids.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';

const READER = join(import.meta.dirname, '../../support/filter_reader.py');
const hasPython = spawnSync('python3', ['--version']).status === 0;

beforeEach(({ skip }) => skip(!hasPython, 'python3 is not installed'));

/** What a program that shares no code with ldm finds in a saved filter. */
function answersOfPython(saved: Uint8Array, ids: readonly Uint8Array[]): boolean[] {
  const path = join(makeTemporaryDirectory(), 'filter');
  writeFileSync(path, saved);
  const input = ids.map((id) => `${Buffer.from(id).toString('hex')}\n`).join('');
  const { stdout, stderr, status } = spawnSync('python3', [READER, path], { input, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line === '1');
}

const LENGTHS = [0, 1, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33];

describe.each(['MURMUR128_MITZ_32', 'MURMUR128_MITZ_64'] as const)(
  'a Bloom filter with the strategy %s',
  (strategy) => {
    test.each([
      [10, 0.3],
      [300, 0.05],
      [2000, 0.001],
    ])('of %d ids at %d gives a Python program the same answers', (capacity, falsePositiveRate) => {
      const random = createPrng(capacity);
      const filter = BloomFilter.forCapacity({ capacity, falsePositiveRate, strategy });
      const ids = Array.from({ length: capacity }, (_, index) => random.bytes(LENGTHS[index % LENGTHS.length]!));
      for (const id of ids) filter.add(id);
      const absent = Array.from({ length: 2000 }, () => random.bytes(20));
      const asked = [...ids, ...absent];
      const answers = answersOfPython(filter.save(), asked);
      expect(answers).toEqual(asked.map((id) => filter.has(id)));
      // Of the absent ids, some are false positives in the first filters, and all of the others are told apart.
      expect(answers.slice(capacity).includes(false)).toBe(true);
    });
  },
);

test('sorted ids give a Python program the same answers', () => {
  const random = createPrng(1);
  const [ids, absent] = [1, 2].map(() => Array.from({ length: 500 }, () => random.bytes(20)));
  const saved = encodeSortedIds(Buffer.concat(ids!));
  expect(answersOfPython(saved, [...ids!, ...absent!])).toEqual([...ids!.map(() => true), ...absent!.map(() => false)]);
  expect(SortedIds.load(saved).has(ids![0]!)).toBe(true);
});

describe.each([8, 16] as const)('a binary fuse filter with %d bits', (fingerprintBits) => {
  test.each([0, 1, 2, 300, 5000])('of %d ids gives a Python program the same answers', (count) => {
    const random = createPrng(count + fingerprintBits);
    const filter = BinaryFuseFilter.withRate({ falsePositiveRate: 0.01, fingerprintBits });
    const ids = Array.from({ length: count }, (_, index) => random.bytes(20 + (index % 3)));
    for (const id of ids) filter.add(id);
    const asked = [...ids, ...Array.from({ length: 2000 }, () => random.bytes(20))];
    const answers = answersOfPython(filter.save(), asked);
    expect(answers).toEqual(asked.map((id) => filter.has(id)));
    expect(answers.slice(0, count)).not.toContain(false);
    expect(answers.slice(count)).toContain(false);
  });
});

test.each([
  [1, 0.3],
  [300, 0.05],
  [2000, 0.001],
])('a split-block filter of %d ids at %d gives a Python program the same answers, in both forms', (count, rate) => {
  const random = createPrng(count);
  const filter = SplitBlockBloomFilter.forCapacity({ capacity: count, falsePositiveRate: rate });
  const ids = Array.from({ length: count }, (_, index) => random.bytes(LENGTHS[index % LENGTHS.length]!));
  for (const id of ids) filter.add(id);
  const asked = [...ids, ...Array.from({ length: 2000 }, () => random.bytes(20))];
  const expected = asked.map((id) => filter.has(id));
  expect(expected.slice(count)).toContain(false);
  for (const form of [filter.save(), filter.toParquet()]) expect(answersOfPython(form, asked)).toEqual(expected);
});
