import { describe, expect, test } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { JsonReader, hexPattern, isUtcTime, parseJson } from '../../../src/core/format/json-reader.ts';

describe('JsonReader', () => {
  const reader = new JsonReader({ text: 'abc', list: ['a', 'b'], count: 3, part: { inner: 1.5 } }, 'sample');

  test('gives members of the right type', () => {
    expect(reader.string('text', /^[a-c]+$/)).toBe('abc');
    expect(reader.strings('list')).toEqual(['a', 'b']);
    expect(reader.count('count')).toBe(3);
    expect(reader.oneOf('text', ['xyz', 'abc'])).toBe('abc');
    expect(reader.object('part').number('inner')).toBe(1.5);
    expect(reader.has('text') && !reader.has('toString')).toBe(true);
  });

  test.each<[string, () => unknown, string]>([
    ['a missing member', () => reader.string('no'), 'sample: "no" is missing'],
    ['an inherited member', () => reader.object('constructor'), 'sample: "constructor" is missing'],
    ['text that is a number', () => reader.string('count'), 'sample: "count" is not a string'],
    ['text of another shape', () => reader.string('text', /^$/), 'sample: "text" is "abc", which is not valid'],
    ['a list that is text', () => reader.strings('text'), 'sample: "text" is not a list'],
    ['a list with other members', () => reader.strings('list', /^a$/), 'sample: "list" is "b", which is not valid'],
    ['a choice', () => reader.oneOf('text', ['x', 'y']), 'sample: "text" is "abc", not one of: x, y'],
    [
      'a count out of range',
      () => reader.integer('count', 4, 9),
      'sample: "count" is 3, not a whole number from 4 to 9',
    ],
    ['half a count', () => reader.object('part').count('inner'), 'sample: part: "inner" is 1.5, not a whole number'],
    ['an object that is a list', () => reader.object('list'), 'sample: list: not a JSON object'],
  ])('%s is named', (_, read, message) => {
    expect(read).toThrow(CorruptDataError);
    expect(read).toThrow(message);
  });
});

test('JSON is UTF-8 below a limit', () => {
  const options = { maxBytes: 10, what: 'sample' };
  expect(parseJson(Buffer.from('["é"]'), options)).toEqual(['é']);
  expect(() => parseJson(Buffer.from('12345678901'), options)).toThrow('sample: 11 bytes, more than the limit of 10');
  expect(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22), options)).toThrow('sample: not JSON');
  expect(() => parseJson(Buffer.from('\ufeff1'), options)).toThrow('sample: not JSON');
});

test('hex has two lower-case digits per byte', () => {
  expect(['00ff', '00FF', '00f', '00fff'].map((text) => hexPattern(2).test(text))).toEqual([true, false, false, false]);
});

test.each([
  ['2026-01-02T03:04:05Z', true],
  ['2026-01-02T03:04:05.123456789Z', true],
  ['2026-01-02T03:04:05.1234567890Z', false],
  ['2026-01-02T03:04:05+01:00', false],
  ['2026-01-02T25:04:05Z', false],
  ['2026-01-02', false],
])('%s: is a time in UTC: %s', (text, expected) => {
  expect(isUtcTime(text)).toBe(expected);
});
