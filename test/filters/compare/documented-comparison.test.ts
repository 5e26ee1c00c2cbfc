import { describe, expect, it } from 'vitest';
import { BloomFilter, CountingBloomFilter, CuckooFilter } from '../../../src/filters/family/index.ts';
import type { MembershipFilter } from '../../../src/filters/family/index.ts';
import { STRUCTURE_NAMES } from '../../../src/filters/compare/compare.ts';
import { CONTENDERS } from '../../../src/filters/compare/contenders.ts';
import { IdStream } from '../../../src/filters/compare/id-stream.ts';
import { ELSEWHERE_OTHER, documentedComparisons, sameEverywhere } from '../../support/documented-comparison.ts';
import { inSoak } from '../../support/soak.ts';

/** How many absent ids were asked for a measured rate of a million elements or more. */
const ANSWERS = 1_000_000;
const SIGMAS = 5;
/** Rates are printed with three digits. */
const ROUNDING = 0.005;

interface Row {
  readonly name: string;
  readonly bits: string;
  readonly predicted: number;
  readonly measured: number;
  readonly uniform: number;
}

function rowsOf(text: string): Row[] {
  const pattern = /^ {2}([a-z0-9-]+) +([\d.]+) +([\d.]+) % +([\d.]+) % +([\d.]+) %/gm;
  return [...text.matchAll(pattern)].map(([, name, bits, predicted, measured, uniform]) => ({
    name: name!,
    bits: bits!,
    predicted: Number(predicted) / 100,
    measured: Number(measured) / 100,
    uniform: Number(uniform) / 100,
  }));
}

function addAll(filter: MembershipFilter, ids: IdStream, count: number): void {
  for (let left = count; left > 0;) {
    const batch = ids.take(left);
    for (const id of batch) filter.add(id);
    left -= batch.length;
  }
}

const documented = documentedComparisons();
const large = ['1e6'];

describe('the comparison in docs/filters.md', () => {
  it('has every structure at both sizes, with the seed', () => {
    expect([...documented.keys()]).toEqual(['1e4', ...large]);
    for (const text of documented.values()) {
      expect(rowsOf(sameEverywhere(text)).map(({ name }) => name)).toEqual(
        STRUCTURE_NAMES.filter((name) => name !== 'b-plus-tree'),
      );
      expect(text).toMatch(ELSEWHERE_OTHER);
      expect(text).toMatch(/^seed 1, n = /);
    }
  });

  it.each(large)('has rates at n = %s that were measured as predicted, within five sigma', (size) => {
    for (const { name, predicted, measured, uniform } of rowsOf(documented.get(size)!)) {
      const tolerance = SIGMAS * Math.sqrt((predicted * (1 - predicted)) / ANSWERS) + 2 * ROUNDING * predicted;
      expect(Math.abs(measured - predicted), name).toBeLessThanOrEqual(tolerance);
      expect(Math.abs(uniform - predicted), `${name}, uniform ids`).toBeLessThanOrEqual(tolerance);
    }
  });

  it.each(large)('has the sizes at n = %s that the structures are made with', (size) => {
    const options = { capacity: Number(size), falsePositiveRate: 0.01 };
    const rows = new Map(rowsOf(documented.get(size)!).map((row) => [row.name, row]));
    const make: (() => MembershipFilter)[] = [
      () => BloomFilter.forCapacity(options),
      () => CountingBloomFilter.forCapacity(options),
      () => CuckooFilter.forCapacity(options),
    ];
    for (const filter of make.map((each) => each())) {
      expect(((filter.memoryBytes * 8) / options.capacity).toFixed(2), filter.name).toBe(rows.get(filter.name)!.bits);
    }
  });

  it.each(CONTENDERS.filter(({ isOnDisk }) => !isOnDisk))('has the size at n = 1e4 of $name', (contender) => {
    const elements = 1e4;
    const { filter } = contender.make({ capacity: elements, falsePositiveRate: 0.01, ids: 'hashed' });
    addAll(filter, new IdStream(1), elements);
    const row = rowsOf(documented.get('1e4')!).find(({ name }) => name === contender.name)!;
    expect(((filter.memoryBytes * 8) / elements).toFixed(2)).toBe(row.bits);
  });

  it.each(['dynamic-bloom', 'dynamic-count', 'bloom-array', 'dibf', 'ldm'] as const)(
    'has the size and rate of %s that fewer elements confirm within a tenth',
    (name) => {
      const elements = inSoak(2 ** 17, 2 ** 14);
      const contender = CONTENDERS.find((each) => each.name === name)!;
      const { filter, counters } = contender.make({ capacity: elements, falsePositiveRate: 0.01, ids: 'hashed' });
      addAll(filter, new IdStream(2), elements);
      const bits = (filter.memoryBytes * 8) / elements;
      for (const size of large) {
        const row = rowsOf(documented.get(size)!).find((each) => each.name === name)!;
        expect(Math.abs(Number(row.bits) / bits - 1), `${name} at ${size}: ${row.bits}`).toBeLessThan(0.1);
        const predicted = filter.falsePositiveRate();
        expect(predicted > 0).toBe(counters === undefined);
        if (predicted > 0) expect(Math.abs(row.predicted / predicted - 1), name).toBeLessThan(0.1);
      }
    },
  );
});
