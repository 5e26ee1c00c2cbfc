import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { DibfFilter } from '../../../src/filters/family/dibf.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('DIBF', {
  make: (options) => DibfFilter.forCapacity(options),
  load: (bytes) => DibfFilter.load(bytes),
  exact: true,
});

function filled(capacity: number, count: number): { filter: DibfFilter; ids: Buffer[] } {
  const random = createPrng(8);
  const filter = DibfFilter.forCapacity({ capacity, falsePositiveRate: 0.01 });
  const ids = Array.from({ length: count }, () => random.bytes(20));
  for (const id of ids) filter.add(id);
  return { filter, ids };
}

describe('the index array', () => {
  it.each([
    [1, 1],
    [2, 2],
    [640, 26],
    [1600, 40],
    [1601, 41],
  ])('for %d ids has %d rows', (capacity, side) => {
    expect(DibfFilter.forCapacity({ capacity, falsePositiveRate: 0.01 }).side).toBe(side);
  });

  it('has every id in one chain, spread as chance would', () => {
    const { filter } = filled(10_000, 10_000);
    const { count, mean, max, histogram } = filter.chains();
    expect(histogram.reduce((sum, chains, length) => sum + chains * length, 0)).toBe(10_000);
    expect(histogram.reduce((sum, chains) => sum + chains, 0)).toBe(count);
    expect([max, mean]).toEqual([histogram.length - 1, 10_000 / count]);
    expect(filter.longestChain()).toBe(max);
    // A Poisson distribution of mean 1: e^-1 of the cells are empty, e^-1 / l! have l ids.
    for (const [length, factorial] of [1, 1, 2, 6].entries()) {
      const expected = 10_000 / Math.E / factorial;
      const found = length === 0 ? 10_000 - count : histogram[length]!;
      expect(Math.abs(found - expected)).toBeLessThan(5 * Math.sqrt(expected));
    }
  });

  it('takes more ids than it was made for, over more than one page', () => {
    const { filter, ids } = filled(500, 9000);
    expect(filter.elements).toBe(9000);
    expect(ids.every((id) => filter.has(id))).toBe(true);
    expect(filter.longestChain()).toBeGreaterThan(9000 / 529);
    expect(filter.bloomRate()).toBeGreaterThan(0.9);
    expect(DibfFilter.load(filter.save()).chains()).toEqual(filter.chains());
  });

  it('has an id once', () => {
    const { filter, ids } = filled(10, 10);
    for (const id of ids) filter.add(id);
    expect(filter.elements).toBe(10);
  });
});

describe('a saved one with a right checksum', () => {
  const saved = Buffer.from(filled(40, 40).filter.save());
  const idsAt = saved.length - 4 - 40 * 20;

  it.each<[string, (bytes: Buffer) => void]>([
    ['an id is not in its Bloom filter', (bytes) => bytes.fill(0, idsAt - 48, idsAt)],
    ['an id is twice in', (bytes) => bytes.copy(bytes, idsAt, idsAt + 20, idsAt + 40)],
  ])('is refused where %s', (_what, change) => {
    const bytes = Buffer.from(saved);
    change(bytes);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
    expect(() => DibfFilter.load(bytes)).toThrow(CorruptDataError);
  });
});
