import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UnsupportedFormatError, UsageError } from '../../../src/core/errors.ts';
import { decodeKeyLine, decodeKeyPage, encodeKeyLines } from '../../../src/core/format/key-page.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';

const prng = createPrng(20261123);
const REPOSITORY_ID = 'abcdef'.padEnd(64, '0');
const KEYS = [2, 1].map((epoch) => ({ epoch, bytes: Buffer.from(prng.bytes(32)) }));
const LINES = encodeKeyLines(KEYS, REPOSITORY_ID);
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The page with other lines in place of some. */
function pageWith(changed: Readonly<Record<number, string>>): string {
  return LINES.map((line, index) => changed[index] ?? line).join('\n');
}

describe('the lines of a key', () => {
  testProperty('read back as they were written', (check) => {
    const key = fc.record({
      epoch: fc.integer({ min: 1, max: 0xffff_ffff }),
      bytes: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
    });
    const keys = fc.array(key, { minLength: 1, maxLength: 5 });
    check(
      fc.property(keys, fc.stringMatching(/^[0-9a-f]{64}$/), (written, repositoryId) => {
        const page = decodeKeyPage(encodeKeyLines(written, repositoryId).join('\n'));
        expect(page.keys.map(({ epoch, bytes }) => [epoch, Buffer.from(bytes).toString('hex')])).toEqual(
          written.map(({ epoch, bytes }) => [epoch, bytes.toString('hex')]),
        );
        expect(page.repositoryStart).toBe(repositoryId.slice(0, 6));
      }),
    );
  });

  test('have four groups of letters and digits and a checksum, and no letter that looks like a digit', () => {
    expect(LINES).toHaveLength(8);
    for (const line of LINES)
      expect(line).toMatch(/^ {2}\d( {2}[0-9A-HJKMNP-TV-Z]{4})( [0-9A-HJKMNP-TV-Z]{4}){3}  \S{4}$/);
  });

  test.each<[string, (line: string) => string]>([
    ['in lower case', (line) => line.toLowerCase()],
    ['with hyphens', (line) => line.replace(/(?<=\w) +(?=\w{4})/g, '-').replace(/^ {2}(\d)-/, '$1 ')],
    ['without spaces', (line) => line.replaceAll(' ', '').replace(/^(\d)/, '$1 ')],
    ['with a full stop behind the number', (line) => line.replace(/^ {2}(\d)/, '$1.')],
    [
      'with O, I and l for digits',
      (line) => line.slice(0, 4) + line.slice(4).replaceAll('0', 'o').replaceAll('1', 'l'),
    ],
    ['with tabs, and spaces at the end', (line) => `${line.replaceAll(' ', '\t')}  `],
    ['with CRLF', (line) => `${line}\r`],
  ])('may be typed %s', (_, typed) => {
    expect(decodeKeyPage(LINES.map(typed).join('\n'))).toEqual(decodeKeyPage(LINES.join('\n')));
  });

  test('are found among other text', () => {
    const text = `MASTER KEY\n\nPrinted 2026-01-02\n\n${LINES.join('\n\n')}\nldm key import\n`;
    expect(decodeKeyPage(text).keys).toHaveLength(2);
  });

  test('one of them is read without its number', () => {
    const part = decodeKeyLine(1, LINES[0]!);
    expect(part).toHaveLength(10);
    expect(decodeKeyLine(1, LINES[0]!.replace(/^ *\d/, ''))).toEqual(part);
    expect(() => decodeKeyLine(2, LINES[0]!.replace(/^ *\d/, ''))).toThrow(UsageError);
  });
});

describe('a typing error', () => {
  test('of any symbol is found, and its line named', () => {
    for (const [index, line] of LINES.slice(0, 4).entries()) {
      for (const match of line.matchAll(/(?<=^.{5}.*)\S/g)) {
        for (const symbol of SYMBOLS.replace(match[0], '')) {
          const wrong = line.slice(0, match.index) + symbol + line.slice(match.index + 1);
          expect(() => decodeKeyPage(pageWith({ [index]: wrong }))).toThrow(
            `line ${index + 1} of the key has a typing error`,
          );
        }
      }
    }
  });

  test('that exchanges two symbols is found', () => {
    for (let at = 5; at < LINES[0]!.length - 1; at += 1) {
      const [first, second] = [LINES[0]![at]!, LINES[0]![at + 1]!];
      if (first === second || `${first}${second}`.includes(' ')) continue;
      const wrong = LINES[0]!.slice(0, at) + second + first + LINES[0]!.slice(at + 2);
      expect(() => decodeKeyPage(pageWith({ 0: wrong }))).toThrow('line 1 of the key has a typing error');
    }
  });

  test.each<[string, string, string]>([
    ['a missing symbol', pageWith({ 1: LINES[1]!.slice(0, -1) }), 'line 2 of the key has 19 characters instead of 20'],
    ['a symbol too many', pageWith({ 1: `${LINES[1]!}0` }), 'line 2 of the key has 21 characters instead of 20'],
    [
      'a letter that is not used',
      pageWith({ 2: LINES[2]!.replace(/\w$/, 'U') }),
      'line 3 of the key contains "U", which',
    ],
    ['a missing line', LINES.toSpliced(2, 1).join('\n'), 'line 3 of the key is missing: the next one is line 4'],
    ['a line that is there twice', LINES.toSpliced(1, 0, LINES[0]!).join('\n'), 'line 2 of the key is missing'],
    ['a page that ends too early', LINES.slice(0, 6).join('\n'), 'only lines 1 to 6 of a key found'],
    ['an empty page', '', 'no key lines found'],
    [
      'a line with the number of another',
      pageWith({ 0: LINES[0]!.replace('1', '2'), 1: LINES[1]!.replace('2', '1') }),
      'line 1 of the key is missing',
    ],
    [
      'the content of one line in another',
      pageWith({ 1: `  2${LINES[2]!.slice(3)}` }),
      'line 2 of the key has a typing error',
    ],
  ])('such as %s is found', (_, page, message) => {
    expect(() => decodeKeyPage(page)).toThrow(UsageError);
    expect(() => decodeKeyPage(page)).toThrow(message);
  });
});

test('pages of two repositories are not mixed', () => {
  const other = encodeKeyLines([KEYS[0]!, KEYS[1]!], '123456'.padEnd(64, '0'));
  const mixed = [...LINES.slice(0, 4), ...other.slice(4)].join('\n');
  expect(() => decodeKeyPage(mixed)).toThrow('the lines belong to keys of different repositories');
});

testProperty('any text at all is read or refused', (check) => {
  const words = fc.array(fc.constantFrom(...LINES, '1 ', '2', 'x', '\n', '\u0000', '1 0000 0000', ' '), {
    maxLength: 12,
  });
  check(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        words.map((parts) => parts.join('\n')),
      ),
      (text) => {
        try {
          decodeKeyPage(text);
        } catch (error) {
          if (!(error instanceof UsageError || error instanceof UnsupportedFormatError)) throw error;
        }
      },
    ),
  );
});
