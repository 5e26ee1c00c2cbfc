import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { takeUniformId } from '../../../src/filters/family/id-hash.ts';
import { SplitBlockBloomFilter } from '../../../src/filters/family/split-block-bloom.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('split-block Bloom filter', {
  make: (options) => SplitBlockBloomFilter.forCapacity(options),
  load: (bytes) => SplitBlockBloomFilter.load(bytes),
  mergeable: true,
  mergesToSameBytes: true,
  estimatesElements: true,
});

const SEED = 41;

function filled(capacity: number, falsePositiveRate: number, count = capacity): SplitBlockBloomFilter {
  const random = createPrng(SEED);
  const filter = SplitBlockBloomFilter.forCapacity({ capacity, falsePositiveRate });
  for (let index = 0; index < count; index++) filter.add(random.bytes(20));
  return filter;
}

describe('the filter that DuckDB wrote into a Parquet file', () => {
  const written = readFileSync(join(import.meta.dirname, '../../../fixtures/parquet/duckdb-1000.bin'));
  const ids = Array.from({ length: 1000 }, (_, index) => Buffer.from(`id-${index}`));

  it('has all ids, and the same false positives as in DuckDB', () => {
    const filter = SplitBlockBloomFilter.fromParquet(written);
    expect(ids.filter((id) => !filter.has(id))).toEqual([]);
    const absent = Array.from({ length: 3000 }, (_, index) => index);
    const found = absent.filter((index) => filter.has(Buffer.from(`absent-${index}`)));
    expect(found).toEqual([764, 964, 1746, 1820, 2223, 2385]);
  });

  it('is, byte for byte, what the same ids give here', () => {
    const filter = SplitBlockBloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.001_24 });
    for (const id of ids) filter.add(id);
    expect(Buffer.compare(filter.toParquet(), written)).toBe(0);
  });

  it.each([
    ['nothing', (bytes: Buffer) => bytes.subarray(0, 0)],
    ['a header without blocks', (bytes: Buffer) => bytes.subarray(0, 16)],
    ['a byte too few', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['a byte too many', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(1)])],
    ['another first field', (bytes: Buffer) => Buffer.concat([Buffer.of(0x25), bytes.subarray(1)])],
    ['a number without an end', (bytes: Buffer) => Buffer.concat([Buffer.of(0x15), Buffer.alloc(30, 0xff), bytes])],
    // The second member of the union of hashes.
    ['another hash', (bytes: Buffer) => withByte(bytes, 8, 0x2c)],
    ['half a block', (bytes: Buffer) => Buffer.concat([Buffer.of(0x15, 32), bytes.subarray(3, 32)])],
    ['no block', (bytes: Buffer) => Buffer.concat([Buffer.of(0x15, 0), bytes.subarray(3, 16)])],
  ])('is refused as %s', (_what, damage) => {
    expect(() => SplitBlockBloomFilter.fromParquet(damage(written))).toThrow(CorruptDataError);
  });
});

function withByte(bytes: Buffer, at: number, value: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = value;
  return changed;
}

describe(`size (seed ${SEED})`, () => {
  // 300 blocks and more have numbers of bytes of three digits of a varint.
  it.each([1, 2, 50, 20_000])('for %d ids survives Parquet, and shares no memory with it', (capacity) => {
    const filter = filled(capacity, 0.01);
    const page = filter.toParquet();
    const read = SplitBlockBloomFilter.fromParquet(page);
    const kept = Buffer.from(page);
    page.fill(0);
    expect(Buffer.compare(read.toParquet(), kept)).toBe(0);
    expect(Buffer.compare(read.save(), filter.save())).toBe(0);
  });

  it.each([
    [0.3, 4.14],
    [0.01, 10.53],
    [0.001, 16.89],
    [1e-6, 64.66],
  ])('for a rate of %d is %d bits for each of many ids', (falsePositiveRate, bits) => {
    const filter = SplitBlockBloomFilter.forCapacity({ capacity: 1_000_000, falsePositiveRate });
    expect((filter.memoryBytes * 8) / 1_000_000).toBeCloseTo(bits, 1);
  });

  it.each([0.3, 0.05, 0.01, 0.001])('keeps a rate of %d, with no more blocks than that needs', (rate) => {
    const filter = filled(30_000, rate);
    expect(filter.falsePositiveRate() / rate).toBeGreaterThan(0.9);
    expect(filter.falsePositiveRate() / rate).toBeLessThan(1.1);
  });

  it('lets the number of ids be estimated', () => {
    for (const count of [0, 1, 100, 9000]) {
      expect(Math.abs(filled(10_000, 0.01, count).elements - count)).toBeLessThanOrEqual(0.02 * count);
    }
  });

  it('refuses what it cannot have', () => {
    const make = (capacity: number, falsePositiveRate: number): SplitBlockBloomFilter =>
      SplitBlockBloomFilter.forCapacity({ capacity, falsePositiveRate });
    for (const [capacity, rate] of [
      [0, 0.01],
      [10, 0],
      [10, 1],
      [1e10, 0.01],
      [1e6, 1e-14],
    ] as const) {
      expect(() => make(capacity, rate), `${capacity}, ${rate}`).toThrow(UsageError);
    }
    const uniform = SplitBlockBloomFilter.forCapacity({ capacity: 9, falsePositiveRate: 0.1, idHash: takeUniformId });
    for (const refused of [() => uniform.save(), () => uniform.toParquet(), () => uniform.merge(uniform)]) {
      expect(refused).toThrow('can be neither saved nor merged');
    }
  });
});
