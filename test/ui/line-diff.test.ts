import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { DiffHunk } from '../../src/ui/api/browse.ts';
import { hunksBetween } from '../../src/ui/server/line-diff.ts';
import { testProperty } from '../support/property.ts';

/** Applies a difference as `patch` would, and fails where it does not fit. */
function applied(before: readonly string[], hunks: readonly DiffHunk[]): string[] {
  const after: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    expect(hunk.before - 1).toBeGreaterThanOrEqual(at);
    after.push(...before.slice(at, hunk.before - 1));
    expect(hunk.after - 1).toBe(after.length);
    at = hunk.before - 1;
    for (const line of hunk.lines) {
      if (!line.startsWith('-')) after.push(line.slice(1));
      if (!line.startsWith('+')) expect(before[at++]).toBe(line.slice(1));
    }
  }
  return [...after, ...before.slice(at)];
}

/** The length of the longest common subsequence, as in textbooks. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  let row = Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    for (const [index, other] of b.entries())
      next.push(line === other ? row[index]! + 1 : Math.max(row[index + 1]!, next[index]!));
    row = next;
  }
  return row.at(-1)!;
}

function changedLines(hunks: readonly DiffHunk[]): number {
  return hunks.flatMap(({ lines }) => lines).filter((line) => !line.startsWith(' ')).length;
}

const lines = (letters: number) => fc.array(fc.nat(letters).map(String), { maxLength: 90, size: 'max' });

describe('the difference of two lists of lines', () => {
  testProperty('makes the second of the first, with as few changed lines as possible', (check) => {
    for (const letters of [1, 4, 60]) {
      check(
        fc.property(lines(letters), lines(letters), (before, after) => {
          const hunks = hunksBetween(before, after);
          expect(applied(before, hunks)).toEqual(after);
          expect(changedLines(hunks)).toBe(before.length + after.length - 2 * commonLength(before, after));
        }),
      );
    }
  });

  it('has three lines around each change, and removed lines before added ones', () => {
    const before = Array.from({ length: 30 }, (_, number) => `${number}`);
    const after = before.with(5, 'five').with(6, 'six').with(13, 'thirteen').with(25, 'x');
    expect(hunksBetween(before, after).map(({ before: from, lines: shown }) => [from, shown.join('')])).toEqual([
      [3, ' 2 3 4-5-6+five+six 7 8 9 10 11 12-13+thirteen 14 15 16'],
      [23, ' 22 23 24-25+x 26 27 28'],
    ]);
    expect(hunksBetween(before, before)).toEqual([]);
  });

  it('takes texts of 5,000 lines that have nothing in common', () => {
    const before = Array.from({ length: 5000 }, (_, number) => `a${number}`);
    const after = Array.from({ length: 5000 }, (_, number) => `b${number}`);
    const hunks = hunksBetween(before, after);
    expect(applied(before, hunks)).toEqual(after);
  });
});
