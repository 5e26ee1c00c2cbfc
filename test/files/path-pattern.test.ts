import { describe, expect, it } from 'vitest';

import { UsageError } from '../../src/errors.ts';
import { compilePathPattern } from '../../src/files/path-pattern.ts';
import { Exclusion } from '../../src/operations/backup/exclusion.ts';
import type { ByteString } from '../../src/util/byte-string.ts';
import { byteStringFromText } from '../../src/util/byte-string.ts';
import type { PathNode } from '../../src/util/path-node.ts';
import { createPrng } from '../support/prng.ts';
import { randomName, randomPattern, resticExcludes } from '../support/restic-filter.ts';

const base = '/home/me' as ByteString;

function excludes(patterns: readonly string[], path: string): boolean {
  const relative = byteStringFromText(path.slice('/home/me/'.length));
  return new Exclusion(patterns, base).isExcluded(placeOf(relative));
}

function placeOf(path: ByteString): PathNode {
  const start = path.lastIndexOf('/');
  const parent = start < 0 ? undefined : placeOf(path.slice(0, start) as ByteString);
  return { parent, name: path.slice(start + 1) as ByteString };
}

describe('a pattern', () => {
  it.each([
    ['a', '/home/me/a', true],
    ['a', '/home/me/x/a', true],
    ['a', '/home/me/xa', false],
    ['mail/cur', '/home/me/mail/cur', true],
    ['mail/cur', '/home/me/x/mail/cur', true],
    ['mail/cur', '/home/me/xmail/cur', false],
    ['me/mail', '/home/me/mail', true],
    ['/mail', '/home/me/mail', false],
    ['/home/me/mail', '/home/me/mail', true],
    ['/home/me/mail', '/home/me/x/home/me/mail', false],
    ['/home/me/mail/', '/home/me/mail', true],
    ['*.log', '/home/me/x/.log', true],
    ['x/*', '/home/me/x/.hidden', true],
    ['x/**/y', '/home/me/x/y', true],
    ['x/**/y', '/home/me/x/1/2/y', true],
    ['x/**', '/home/me/x', true],
    ['/**/y', '/home/me/1/y', true],
    ['?', '/home/me/\u00e9', true],
    ['?', '/home/me/ab', false],
    ['photos (1)', '/home/me/photos (1)', true],
    ['{a,b}', '/home/me/a', false],
    ['a+', '/home/me/aa', false],
    ['[^a]', '/home/me/a', false],
    ['x/./y/../z', '/home/me/x/z', true],
    ['A', '/home/me/a', false],
  ])('%j on %j: %j', (pattern, path, expected) => {
    expect(excludes([pattern], path)).toBe(expected);
    expect(resticExcludes([pattern], path, base)).toBe(expected);
  });

  it.each(['[', 'a[', '[]', '[^]', '[a-]', '[-a]', '[a-b-c]', 'a\\', 'x\\/y', '[a/b]', '', '!', 'a/[/b'])(
    '%j is refused',
    (pattern) => {
      expect(() => compilePathPattern(pattern)).toThrow(UsageError);
    },
  );

  it('matches names that are not UTF-8 by its wildcards only', () => {
    const name = 'a\xff' as ByteString;
    const test = (pattern: string): boolean => new Exclusion([pattern], base).isExcluded(placeOf(name));
    expect([test('a*'), test('a?'), test('*'), test('a\u00ff')]).toEqual([true, true, true, false]);
  });
});

describe('the last pattern that matches', () => {
  it.each([
    [['*', '!a'], '/home/me/a', false],
    [['!a', '*'], '/home/me/a', true],
    [['x/*', '!x/keep', 'x/keep/*.tmp'], '/home/me/x/keep/a', false],
    [['x/*', '!x/keep', 'x/keep/*.tmp'], '/home/me/x/keep/a.tmp', true],
    [['*.log', '!logs'], '/home/me/logs/2026/a.log', false],
  ])('decides: %j on %j', (patterns, path, expected) => {
    expect(excludes(patterns, path)).toBe(expected);
    expect(resticExcludes(patterns, path, base)).toBe(expected);
  });
});

it('random patterns mean what they mean to restic', () => {
  const seed = Math.floor(performance.now() * 1000);
  const prng = createPrng(seed);
  let excludedCount = 0;
  for (let round = 0; round < 4_000; round += 1) {
    const patterns = Array.from({ length: 1 + prng.int(3) }, () =>
      randomPattern(prng, prng.pick(['', '', '/home/me/', '/'])),
    );
    let path = base as string;
    for (let depth = 0; depth < 4; depth += 1) {
      path += `/${randomName(prng)}`;
      const expected = resticExcludes(patterns, path, base);
      expect(excludes(patterns, path), JSON.stringify({ seed, patterns, path })).toBe(expected);
      if (expected) {
        excludedCount += 1;
        break;
      }
    }
  }
  expect(excludedCount).toBeGreaterThan(400);
});

it('patterns that matched nothing are known', () => {
  const exclusion = new Exclusion(['a', '*', 'b', '!c', '!d'], base);
  for (const name of ['a', 'c'] as ByteString[]) exclusion.isExcluded(placeOf(name));
  expect(exclusion.unmatched()).toEqual(['b', '!d']);
});
