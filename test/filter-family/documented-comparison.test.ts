import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BloomFilter, CountingBloomFilter, CuckooFilter } from '../../src/filter-family/index.ts';
import type { MembershipFilter } from '../../src/filter-family/index.ts';
import { STRUCTURE_NAMES, compareFilters } from '../../src/operations/filter/compare.ts';
import { runLdm } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'filters.md'), 'utf8');
const SAME = 'The same on every machine\n';
/** The pages of a B+ tree are those of the system: its sizes may differ elsewhere. */
const ELSEWHERE_OTHER = /^ {2}b-plus-tree .*\n/m;
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

/** The tables of a documented run that depend on the options and the seed alone: rates and sizes, and chains. */
function sameEverywhere(text: string): string {
  const start = text.indexOf(SAME);
  return text.slice(start, text.indexOf('\n\nOn this machine', start)).replace(ELSEWHERE_OTHER, '');
}

function rowsOf(text: string): Row[] {
  const pattern = /^ {2}([a-z-]+) +([\d.]+) +([\d.]+) % +([\d.]+) % +([\d.]+) %/gm;
  return [...text.matchAll(pattern)].map(([, name, bits, predicted, measured, uniform]) => ({
    name: name!,
    bits: bits!,
    predicted: Number(predicted) / 100,
    measured: Number(measured) / 100,
    uniform: Number(uniform) / 100,
  }));
}

const documented = new Map(
  [...page.matchAll(/^```console\n\$ ldm filter compare -n (\S+)\n([^]*?)\n```$/gm)].map(([, size, text]) => [
    size!,
    text!,
  ]),
);
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

  it('prints the same table for ten thousand elements, but for the pages of the B+ tree', async () => {
    const { code, stdout } = await runLdm(['filter', 'compare', '-n', '1e4', '--rounds', '1']);
    expect(code).toBe(0);
    expect(sameEverywhere(stdout)).toBe(sameEverywhere(documented.get('1e4')!));
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

  it('has sizes of what grows, and rates, that fewer elements confirm within a tenth', async () => {
    const structures = ['dynamic-bloom', 'dibf', 'ldm'];
    const options = { elements: inSoak(2 ** 17, 2 ** 14), falsePositiveRate: 0.01, seed: 2, structures, rounds: 1 };
    const measured = await compareFilters({}, options);
    for (const { name, full } of measured.structures) {
      for (const size of large) {
        const row = rowsOf(documented.get(size)!).find((each) => each.name === name)!;
        expect(Math.abs(Number(row.bits) / full.bitsPerElement - 1), `${name} at ${size}: ${row.bits}`).toBeLessThan(
          0.1,
        );
        if (full.predictedRate > 0) expect(Math.abs(row.predicted / full.predictedRate - 1), name).toBeLessThan(0.1);
      }
    }
  });
});
