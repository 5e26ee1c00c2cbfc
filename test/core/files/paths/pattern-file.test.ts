import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { UsageError } from '../../../../src/core/errors.ts';
import { readPatternFile } from '../../../../src/core/files/paths/pattern-file.ts';
import { PathPatterns } from '../../../../src/core/files/paths/path-patterns.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';

const ENVIRONMENT = { HOME: '/home/me', EMPTY: '', '1': 'one' };

function read(content: string | Uint8Array): string[] {
  const path = join(memoryDirectory(), 'patterns');
  writeFileSync(path, content);
  return readPatternFile(path, ENVIRONMENT);
}

it('a file has a pattern per line, and comments', () => {
  expect(read('a\n\n  # no\n #no\n\t b c \u00a0\n!d\n\\#e\nf#\r\n*.log')).toEqual([
    'a',
    'b c',
    '!d',
    '\\#e',
    'f#',
    '*.log',
  ]);
  expect(read('')).toEqual([]);
});

it('a file may be UTF-16, as Windows writes it', () => {
  const text = '\ufeffé\r\nb\r\n';
  const little = Buffer.from(text, 'utf16le');
  expect(read(little)).toEqual(['é', 'b']);
  expect(read(Buffer.from(little).swap16())).toEqual(['é', 'b']);
  expect(read(text)).toEqual(['é', 'b']);
});

it('variables are replaced', () => {
  expect(read('$HOME/tmp\n${HOME}.x\na$\n$$HOME\n$EMPTY\na$EMPTY/\n$.x\n$1')).toEqual([
    '/home/me/tmp',
    '/home/me.x',
    'a$',
    '$HOME',
    'a/',
    '$.x',
    'one',
  ]);
});

it.each([
  ['ok\n*$py.class', /^line 2 of .*: the environment variable \$py is not set/],
  ['${NOTHING}', /the environment variable \$\{NOTHING\} is not set/],
  ['${HOME', /does not name an environment variable/],
  ['a${}', /does not name an environment variable/],
  ['a$*', /does not name an environment variable/],
  ['a\n\n[b', /^line 3 of .*: the pattern "\[b" is malformed/],
  [Buffer.from('a\xff', 'latin1'), /^line 1 of .* is not UTF-8/],
])('%j is refused', (content, message) => {
  expect(() => read(content)).toThrow(UsageError);
  expect(() => read(content)).toThrow(message);
});

it('a file that does not exist is refused', () => {
  expect(() => readPatternFile('/nowhere/patterns', {})).toThrow(UsageError);
});

it.each([
  ['*.JPG', 'a.jpg', true],
  ['STRASSE', 'straße', false],
  ['ÄNDERUNG', 'änderung', true],
  ['Σίσυφος', 'ΣΊΣΥΦΟΣ', false],
  ['ΣΊΣΥΦΟΣ', 'σίσυφοσ', true],
  ['i', 'İ', true],
  ['[A-C]', 'b', true],
])('%j regardless of case on %j: %j', (pattern, name, expected) => {
  const patterns = new PathPatterns({ ignoringCase: [pattern] }, '/' as ByteString);
  expect(patterns.matches({ parent: undefined, name: byteStringFromText(name) })).toBe(expected);
});

it('exceptions concern only patterns of the same kind', () => {
  const matches = (name: string, exact: string[], ignoringCase: string[]): boolean =>
    new PathPatterns({ exact, ignoringCase }, '/' as ByteString).matches({
      parent: undefined,
      name: name as ByteString,
    });
  expect(matches('A', ['!A'], ['a'])).toBe(true);
  expect(matches('A', ['A'], ['!a'])).toBe(true);
  expect(matches('A', [], ['a', '!A'])).toBe(false);
});

it('names the patterns of both kinds that matched nothing', () => {
  const patterns = new PathPatterns({ exact: ['a', 'b'], ignoringCase: ['A', 'C', '!D'] }, '/' as ByteString);
  patterns.matches({ parent: undefined, name: 'a' as ByteString });
  expect(patterns.unmatched()).toEqual(['b', 'C', '!D']);
});
