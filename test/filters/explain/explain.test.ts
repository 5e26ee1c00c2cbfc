import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { BloomFilter } from '../../../src/filters/family/bloom-filter.ts';
import { CountingBloomFilter } from '../../../src/filters/family/counting-bloom-filter.ts';
import { DibfFilter } from '../../../src/filters/family/dibf.ts';
import { DynamicCountingFilter } from '../../../src/filters/family/dynamic-counting.ts';
import { DynamicBloomFilter } from '../../../src/filters/family/dynamic-bloom.ts';
import { LdmSet } from '../../../src/filters/family/ldm-set.ts';
import type { MembershipFilter } from '../../../src/filters/family/membership-filter.ts';
import type { Trace } from '../../../src/filters/family/trace.ts';
import { drawTrace, missingPosition } from '../../../src/filters/explain/draw-trace.ts';
import { testProperty } from '../../support/property.ts';
import { EXAMPLE_KEYS, traceOfExample } from '../../support/worked-example.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/filters.md'), 'utf8');
const options = { capacity: 40, falsePositiveRate: 0.2 };

type Traceable = MembershipFilter & { trace(id: Uint8Array): Trace };
const makers: readonly (readonly [string, () => Traceable])[] = [
  ['Bloom', () => BloomFilter.forCapacity(options)],
  ['older Bloom', () => BloomFilter.forCapacity({ ...options, strategy: 'MURMUR128_MITZ_32' })],
  ['counting Bloom', () => CountingBloomFilter.forCapacity(options)],
  ['partitioned', () => CountingBloomFilter.forCapacity({ ...options, isPartitioned: true })],
  ['DIBF', () => DibfFilter.forCapacity(options)],
  ['dynamic counting', () => DynamicCountingFilter.forCapacity({ ...options, filterCapacity: 5 })],
  ['dynamic Bloom', () => DynamicBloomFilter.forCapacity({ ...options, filterCapacity: 5 })],
  ['LDM', () => LdmSet.forCapacity(options)],
];

describe.each(makers)('the trace of a %s filter', (_name, make) => {
  testProperty('has the positions that an id takes, and a 0 only if the answer is no', (check) => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 24 });
    check(
      fc.property(fc.array(key, { maxLength: 30 }), key, (keys, other) => {
        const filter = make();
        for (const id of keys) filter.add(id);
        for (const id of [...keys, other]) {
          const trace = filter.trace(id);
          const isMissing = missingPosition(trace) !== undefined;
          // Only an LDM filter looks further.
          if (trace.link === undefined) expect(isMissing).toBe(!filter.has(id));
          else if (isMissing) expect(filter.has(id)).toBe(false);
          else expect(trace.link.chainLength > 0 || !filter.has(id)).toBe(true);
        }
        const before = make().trace(other);
        const only = make();
        only.add(other);
        const [array] = only.trace(other).arrays;
        const places = Array.from({ length: array!.size }, (_, place) => place);
        const taken = places.filter((place) => array!.valueAt(place) > 0);
        expect(new Set(before.positions)).toEqual(new Set(taken));
      }),
      { numRuns: 40 },
    );
  });
});

describe('the worked example', () => {
  it('sets the bits that the lectures print', () => {
    const [array] = traceOfExample(0).arrays;
    expect(Array.from({ length: 11 }, (_, place) => array!.valueAt(place)).join('')).toBe('10100101010');
    expect(EXAMPLE_KEYS.map((key) => traceOfExample(key).positions)).toEqual([
      [5, 2],
      [7, 0],
      [9, 7],
    ]);
  });

  it.each([118, 162])('is drawn for %i as on the page', (key) => {
    expect(PAGE).toContain(`\`\`\`text\n${key}\n${drawTrace(traceOfExample(key))}\n\`\`\`\n`);
  });
});

describe('the picture of a large filter', () => {
  const trace = (valueAt: (position: number) => number, positions: readonly number[]): string =>
    drawTrace({ hashes: [], rule: 'any', positions, unit: 'counter', arrays: [{ size: 6400, valueAt }] });

  it('shades the part of each column that is taken, and marks the columns of the positions', () => {
    const lines = trace((place) => Number(place < 3200 && place % 2 === 0), [0, 100, 6399]).split('\n');
    expect(lines[4]).toBe(`  ${'▒'.repeat(32)}`.padEnd(66));
    expect(lines[5]).toBe(`  ▲▲${' '.repeat(61)}▲`);
  });

  it('shows the neighbours of each position, to the ends of the array', () => {
    const lines = trace((place) => place % 20, [0, 30, 6399]).split('\n');
    expect(lines.slice(-3)).toEqual([
      `  h1      0  counter 0${' '.repeat(14)}[0]12345678...`,
      '  h2     30  counter 10  ...23456789[a]bcdef+++...',
      '  h3  6,399  counter 19  ...bcdef+++[+]',
    ]);
  });
});
