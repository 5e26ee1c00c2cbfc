import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../../src/core/errors.ts';
import { compilePathPattern } from '../../../../src/core/files/paths/path-pattern.ts';
import { PathPatterns } from '../../../../src/core/files/paths/path-patterns.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import type { PathNode } from '../../../../src/core/util/path-node.ts';
import { createPrng } from '../../../support/prng.ts';
import { testProperty } from '../../../support/property.ts';
import { randomName, randomPattern, resticExcludes } from '../../../support/restic-filter.ts';
import { seedsOf } from '../../../support/seeds.ts';
import { inSoak } from '../../../support/soak.ts';

const base = '/home/me' as ByteString;

function excludes(patterns: readonly string[], path: string): boolean {
  const relative = byteStringFromText(path.slice('/home/me/'.length));
  return new PathPatterns({ exact: patterns }, base).matches(placeOf(relative));
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
    ['x[+-9]y/z', '/home/me/x.y/z', true],
    ['x[+-9]y/z', '/home/me/x/y/z', false],
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
    const test = (pattern: string): boolean => new PathPatterns({ exact: [pattern] }, base).matches(placeOf(name));
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

it.each(seedsOf(1, 20))('random patterns mean what they mean to restic (seed %i)', (seed) => {
  const prng = createPrng(seed);
  let excludedCount = 0;
  for (let round = 0; round < inSoak(4000, 1000); round += 1) {
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
  expect(excludedCount).toBeGreaterThan(inSoak(400, 100));
});

it('patterns that matched nothing are known', () => {
  const patterns = new PathPatterns({ exact: ['a', '*', 'b', '!c', '!d'] }, base);
  for (const name of ['a', 'c'] as ByteString[]) patterns.matches(placeOf(name));
  expect(patterns.unmatched()).toEqual(['b', '!d']);
});

/** Whether the names from here on match, with each wildcard tried in every way. */
function matchesSlowly(pattern: readonly string[], names: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return names.length === 0;
  if (first === '**')
    return names.some((_, index) => matchesSlowly(rest, names.slice(index))) || matchesSlowly(rest, []);
  return names.length > 0 && nameMatchesSlowly(first, names[0]!) && matchesSlowly(rest, names.slice(1));
}

function nameMatchesSlowly(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern.startsWith('*')) {
    return nameMatchesSlowly(pattern.slice(1), name) || (name !== '' && nameMatchesSlowly(pattern, name.slice(1)));
  }
  return name !== '' && pattern[0] === name[0] && nameMatchesSlowly(pattern.slice(1), name.slice(1));
}

function isMatch(text: string, path: string): boolean {
  const { nameRegex, pathRegex } = compilePathPattern(text);
  const name = path.slice(path.lastIndexOf('/') + 1);
  return nameRegex?.test(name) !== false && pathRegex?.test(path) !== false;
}

describe('wildcards', () => {
  const names = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 5,
  });
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 6 }) },
    { weight: 1, arbitrary: fc.constant('**') },
  );
  const pattern = fc.array(part, { minLength: 1, maxLength: 5 });

  testProperty('match as if each were tried in every way', (check) => {
    let matchCount = 0;
    check(
      fc.property(pattern, names, (parts, path) => {
        // Two or more stars are one in a name, but `**` alone is any number of names.
        const wanted = matchesSlowly(
          parts.map((each) => (each === '**' ? each : each.replaceAll(/\*+/g, '*'))),
          path,
        );
        if (wanted) matchCount += 1;
        expect(isMatch(`/${parts.join('/')}`, `/${path.join('/')}`)).toBe(wanted);
      }),
      { numRuns: inSoak(3000, 1000) },
    );
    expect(matchCount).toBeGreaterThan(inSoak(100, 35));
  });

  // Each took minutes when every wildcard was tried in every way.
  it.each([
    [`${'*a'.repeat(12)}*b`, `/${'a'.repeat(255)}`],
    [`/x/${'*a'.repeat(12)}*b/y`, `/x/${'a'.repeat(255)}/y`],
    [`${'**/a/'.repeat(12)}**/b`, '/a'.repeat(300)],
  ])('of %s are not tried in every way', (text, path) => {
    expect(isMatch(text, path)).toBe(false);
  });

  it('of a pattern that is too long are an error', () => {
    expect(() => compilePathPattern('a'.repeat(4097))).toThrow(/^a pattern of 4097 characters is too long: a{40}…$/);
    expect(isMatch('?'.repeat(4096), `/${'a'.repeat(4096)}`)).toBe(true);
    expect(isMatch('*a'.repeat(2048), `/${'a'.repeat(2048)}`)).toBe(true);
  });
});

it('a pattern may match below a directory with a line break in its name', () => {
  const { leadRegex } = compilePathPattern('/a/**/b');
  expect(['/a', '/a/x\ny', '/a/x\ny/z', '/c'].map((path) => leadRegex?.test(path))).toEqual([true, true, true, false]);
});
