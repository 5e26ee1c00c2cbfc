import { describe, expect, it } from 'vitest';

import { formatBar, formatTable } from '../../../src/console/output/tables.ts';
import {
  countNoun,
  formatCount,
  formatMeasured,
  formatPercent,
  formatRatio,
} from '../../../src/console/output/words.ts';

describe('words', () => {
  it('count', () => {
    expect([0, 1, 2, 1234].map((value) => countNoun(value, 'file'))).toEqual([
      '0 files',
      '1 file',
      '2 files',
      '1,234 files',
    ]);
    expect([1, 2].map((value) => countNoun(value, 'directory'))).toEqual(['1 directory', '2 directories']);
    expect(countNoun(2, 'day')).toBe('2 days');
  });

  it('count as in English', () => {
    for (const value of [0, 12, 999, 1000, 45_678, 123_456, 1_234_567, -1000, -999, 2 ** 53 - 1, 2 ** 60, 1234.5]) {
      expect(formatCount(value)).toBe(value.toLocaleString('en-US'));
    }
  });

  it('a measured share of 0 has an upper limit, rounded up', () => {
    const limits = [262_144, 300, 100, 3, 1_000_000].map((count) => formatMeasured(0, count));
    expect(limits).toEqual([
      'none of 262,144 (below 0.0012 %)',
      'none of 300 (below 1 %)',
      'none of 100 (below 3 %)',
      'none of 3 (below 100 %)',
      'none of 1,000,000 (below 0.0003 %)',
    ]);
    expect(formatMeasured(0.0078125, 10)).toBe('0.78 %');
  });

  it('keep two digits of small shares', () => {
    expect([0, 0.5, 0.0078125, 0.0000123, 1].map(formatPercent)).toEqual([
      '0.0 %',
      '50.0 %',
      '0.78 %',
      '0.0012 %',
      '100.0 %',
    ]);
  });

  it('have no ratio of nothing', () => {
    expect([2.5, 0, NaN, Infinity].map(formatRatio)).toEqual(['2.50 x', '-', '-', '-']);
  });
});

describe('tables', () => {
  it('align numbers to the right, without lines, colours or trailing spaces', () => {
    const rows = [
      ['a', '1'],
      ['long', '100'],
    ];
    expect(formatTable(rows, { head: ['Name', 'Count'], rightAligned: [1] })).toBe(
      'Name  Count\na         1\nlong    100',
    );
  });

  it('look the same with many rows, which takes time in proportion to their number', () => {
    const rows = [
      ['ascii', '1', 'x'],
      ['日本語', '22'],
      ['e\u0301te\u0301', '333', 'a b'],
    ];
    const options = { head: ['Name', 'Count', ''], rightAligned: [1], indent: '  ' };
    const [head, ...lines] = formatTable(rows, options).split('\n');
    const many = Array.from({ length: 40_000 }, (_, index) => rows[index % rows.length]!);
    // With a quadratic layout this takes minutes, and the runner stops it.
    const expected = many.map((_, index) => lines[index % rows.length]!);
    expect(formatTable(many, options)).toBe([head, ...expected].join('\n'));
  });

  it('show every part above 0 as a bar', () => {
    expect([100, 50, 1, 0].map((value) => formatBar(value, 100, 10))).toEqual(['█'.repeat(10), '█'.repeat(5), '█', '']);
  });
});
