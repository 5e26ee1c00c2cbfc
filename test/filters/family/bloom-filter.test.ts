import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { BloomFilter } from '../../../src/filters/family/bloom-filter.ts';
import { longFunnel, stringFunnel } from '../../../src/filters/family/guava-form.ts';
import type { GuavaStrategy } from '../../../src/filters/family/guava-form.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { positionsByDefinition } from './guava-support.ts';

describeMembership('the Bloom filter', {
  make: (options) => BloomFilter.forCapacity(options),
  load: (bytes) => BloomFilter.load(bytes),
  mergeable: true,
  mergesToSameBytes: true,
  estimatesElements: true,
  lacksChecksum: true,
});

interface GuavaFacts {
  readonly funnel: 'utf8' | 'long';
  readonly strategy?: GuavaStrategy;
  readonly expectedInsertions: number;
  readonly fpp: number;
  readonly inserted: string;
  readonly probes: string;
  readonly falsePositives: readonly number[];
  readonly approximateElementCount: number;
  readonly expectedFpp: number;
}

const folder = join(import.meta.dirname, '../../../fixtures/guava');

/** `prefix{0..n-1}`, or for longs `base+{0..n-1}` and `-1-{0..n-1}`, as the ids that the funnel makes. */
function idsOf(funnel: GuavaFacts['funnel'], range: string): Uint8Array[] {
  const [, prefix, sign, last] = /^(.*?)([+-]?)\{0\.\.(\d+)\}$/.exec(range)!;
  const isDown = funnel === 'long' && sign === '-';
  return Array.from({ length: Number(last) + 1 }, (_, index) =>
    funnel === 'long'
      ? longFunnel(BigInt(prefix!) + BigInt(isDown ? -index : index))
      : stringFunnel(`${prefix}${sign}${index}`),
  );
}

describe.each(
  readdirSync(folder, 'latin1')
    .filter((name) => name.endsWith('.bin'))
    .map((name) => name.slice(0, -4)),
)('the filter %s of Guava', (name) => {
  const bytes = readFileSync(join(folder, `${name}.bin`));
  const facts = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as GuavaFacts;
  const { funnel, strategy, expectedInsertions: capacity, fpp: falsePositiveRate } = facts;

  test('is saved again as the same bytes', () => {
    expect(Buffer.compare(BloomFilter.load(bytes).save(), bytes)).toBe(0);
  });

  test('has what was inserted, and of the probes exactly the false positives of Guava', () => {
    const filter = BloomFilter.load(bytes);
    expect(idsOf(funnel, facts.inserted).every((id) => filter.has(id))).toBe(true);
    const found = [...idsOf(funnel, facts.probes).entries()].filter(([, id]) => filter.has(id));
    expect(found.map(([index]) => index)).toEqual(facts.falsePositives);
  });

  test('comes out bit for bit when the same is inserted here', () => {
    const filter = BloomFilter.forCapacity({ capacity, falsePositiveRate, strategy });
    for (const id of idsOf(funnel, facts.inserted)) filter.add(id);
    expect(Buffer.compare(filter.save(), bytes)).toBe(0);
  });

  test('has the estimates of Guava', () => {
    const filter = BloomFilter.load(bytes);
    expect(filter.elements).toBe(facts.approximateElementCount);
    expect(filter.falsePositiveRate()).toBeCloseTo(facts.expectedFpp, 15);
  });
});

describe('a Bloom filter', () => {
  test.each([
    [1000, 0.01, 9600, 7],
    [1, 0.99, 64, 1],
    [1_000_000, 0.03, 7_298_496, 5],
  ])('for %d ids at %d has %d bits and %d hashes', (capacity, falsePositiveRate, bits, hashes) => {
    const filter = BloomFilter.forCapacity({ capacity, falsePositiveRate });
    expect([filter.bits, filter.hashes, filter.memoryBytes]).toEqual([bits, hashes, bits / 8]);
  });

  test.each([
    [0, 0.01],
    [1.5, 0.01],
    [Number.NaN, 0.01],
    [10, 0],
    [10, 1],
    [10, Number.NaN],
    [10, 1e-100],
    [2 ** 39, 0.01],
  ])('for %d ids at %d is refused', (capacity, falsePositiveRate) => {
    expect(() => BloomFilter.forCapacity({ capacity, falsePositiveRate })).toThrow(UsageError);
  });

  test('that is all ones has everything, and a finite estimate', () => {
    const bytes = Buffer.alloc(6 + 8, 0xff);
    bytes.set([1, 3, 0, 0, 0, 1]);
    const filter = BloomFilter.load(bytes);
    expect([filter.has(stringFunnel('x')), filter.falsePositiveRate(), filter.bitCount]).toEqual([true, 1, 64]);
    expect(filter.elements).toBe(Math.round((64 * Math.log(64)) / 3));
  });

  test.each([
    ['0 longs', [1, 3, 0, 0, 0, 0]],
    ['-1 longs', [1, 3, 255, 255, 255, 255]],
    ['no hashes', [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]],
  ])('of %s is refused', (_what, bytes) => {
    expect(() => BloomFilter.load(Uint8Array.from(bytes))).toThrow(CorruptDataError);
  });

  test('of a strategy that Guava does not have is refused', () => {
    const bytes = Buffer.from(readFileSync(join(folder, 'utf8-50-0.3.bin')));
    bytes[0] = 2;
    expect(() => BloomFilter.load(bytes)).toThrow(CorruptDataError);
    expect(() => BloomFilter.load(bytes)).toThrow(
      /strategy 2 is neither MURMUR128_MITZ_32 \(0\) nor MURMUR128_MITZ_64/,
    );
  });

  test('with the older strategy has at most the 2^31 bits that it can set', () => {
    const options = { capacity: 400_000_000, falsePositiveRate: 0.01 };
    expect(() => BloomFilter.forCapacity({ ...options, strategy: 'MURMUR128_MITZ_32' })).toThrow(UsageError);
    expect(() => BloomFilter.forCapacity({ ...options, strategy: 'x' as 'MURMUR128_MITZ_32' })).toThrow(UsageError);
  });

  test('of another strategy is not merged', () => {
    const options = { capacity: 100, falsePositiveRate: 0.01 };
    const older = BloomFilter.forCapacity({ ...options, strategy: 'MURMUR128_MITZ_32' });
    expect(() => older.merge(BloomFilter.forCapacity(options))).toThrow(UsageError);
  });

  // More hashes and steps of every size: the sums wrap hundreds of thousands of times.
  test('sets the bits that the definition with 64-bit numbers sets', () => {
    const random = createPrng(7);
    for (const longs of [1, 3, 1000]) {
      const bytes = Buffer.alloc(6 + longs * 8);
      bytes.set([1, 255, 0, 0, longs >>> 8, longs & 255]);
      const filter = BloomFilter.load(bytes);
      const id = random.bytes(20);
      filter.add(id);
      for (const bit of positionsByDefinition(id, 255, longs * 64)) bytes[6 + byteOfBit(bit)]! |= 1 << (bit & 7);
      expect(Buffer.compare(filter.save(), bytes)).toBe(0);
    }
  });

  // The memory is asked for, but almost none of it is touched.
  test('of more than 2^32 bits works alike', () => {
    const filter = BloomFilter.forCapacity({ capacity: 470_000_000, falsePositiveRate: 0.01 });
    expect(filter.bits).toBeGreaterThan(2 ** 32);
    const random = createPrng(8);
    const ids = Array.from({ length: 300 }, () => random.bytes(20));
    const bits = new Set<number>();
    for (const id of ids) {
      filter.add(id);
      for (const bit of positionsByDefinition(id, filter.hashes, filter.bits)) bits.add(bit);
    }
    expect(filter.bitCount).toBe(bits.size);
    expect(filter.elements).toBe(ids.length);
    expect(ids.every((id) => filter.has(id))).toBe(true);
    for (let probe = 0; probe < 1000; probe++) expect(filter.has(random.bytes(20))).toBe(false);
  });
});

function byteOfBit(bit: number): number {
  return Math.floor(bit / 64) * 8 + 7 - ((bit >>> 3) & 7);
}

describe('funnels', () => {
  test('for strings are UTF-8, and halves of surrogate pairs become question marks as in Java', () => {
    expect(Buffer.from(stringFunnel('aé檔😀')).toString('hex')).toBe('61c3a9e6aa94f09f9880');
    expect(Buffer.from(stringFunnel('\ud83d-\ude00\ud83d😀')).toString()).toBe('?-??😀');
  });

  test('for longs are little-endian, with any number of 64 bits', () => {
    expect(Buffer.from(longFunnel(258)).toString('hex')).toBe('0201000000000000');
    expect(Buffer.from(longFunnel(-1)).toString('hex')).toBe('ffffffffffffffff');
    expect(longFunnel(2n ** 63n)).toEqual(longFunnel(-(2n ** 63n)));
  });
});
