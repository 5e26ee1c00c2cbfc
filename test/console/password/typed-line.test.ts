import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { TypedLine } from '../../../src/console/password/typed-line.ts';
import { testProperty } from '../../support/property.ts';

function typed(...keys: readonly string[]): { readonly state: string; readonly text: string; readonly rest: string } {
  const line = new TypedLine();
  const bytes = Buffer.from(keys.join(''));
  const { state, takenCount } = line.take(bytes);
  return { state, text: line.bytes().toString(), rest: bytes.subarray(takenCount).toString() };
}

const BACKSPACE = '\u007f';

describe('a typed line', () => {
  test.each<[string, readonly string[], string]>([
    ['is what was typed', ['secret'], 'secret'],
    ['may have spaces and any characters', [' pässwörd 🔑 '], ' pässwörd 🔑 '],
    ['loses a character by Backspace', ['secrex', BACKSPACE, 't'], 'secret'],
    ['loses it by Ctrl+H too', ['secrex', '\b', 't'], 'secret'],
    ['loses a character of several bytes at once', ['aö', BACKSPACE, 'ü🔑', BACKSPACE], 'aü'],
    ['survives a Backspace too many', ['a', BACKSPACE, BACKSPACE, BACKSPACE, 'b'], 'b'],
    ['is cleared by Ctrl+U', ['wrong', '\u0015', 'right'], 'right'],
    ['ignores arrows and function keys', ['a\u001b[Ab\u001b[1;5Cc\u001bOPd\u001b[15~e'], 'abcde'],
    ['ignores other control characters', ['a\tb\u0001\u001c\u0000c'], 'abc'],
    ['is not ended by Ctrl+D', ['a\u0004b'], 'ab'],
  ])('%s', (_, keys, text) => {
    expect(typed(...keys, '\r')).toEqual({ state: 'complete', text, rest: '' });
    expect(typed(...keys, '\n')).toEqual({ state: 'complete', text, rest: '' });
    expect(typed(...keys)).toEqual({ state: 'incomplete', text, rest: '' });
  });

  test('leaves what comes after it to the next one', () => {
    expect(typed('one\rtwo\r')).toEqual({ state: 'complete', text: 'one', rest: 'two\r' });
  });

  test('ends with Ctrl+C, with Ctrl+D before anything else, and with too many bytes', () => {
    expect(typed('abc\u0003def').state).toBe('interrupted');
    expect(typed('\u001b[\u0003').state).toBe('interrupted');
    expect(typed('\u0004').state).toBe('ended');
    expect(typed('a', BACKSPACE, '\u0004').state).toBe('ended');
    expect(typed('a'.repeat(4096), '\r').state).toBe('complete');
    expect(typed('a'.repeat(4097), '\r').state).toBe('too-long');
  });

  testProperty('does not depend on how the bytes arrive', (check) => {
    const keys = fc.array(fc.constantFrom('a', 'ö', '🔑', BACKSPACE, '\u001b[A', '\u0015', ' '), { maxLength: 40 });
    check(
      fc.property(keys, fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 }), (pressed, sizes) => {
        const line = new TypedLine();
        let rest = Buffer.from(`${pressed.join('')}\r`);
        let state = 'incomplete';
        for (const size of [...sizes, rest.length]) {
          if (state === 'complete') break;
          ({ state } = line.take(rest.subarray(0, size)));
          rest = rest.subarray(size);
        }
        expect({ state, text: line.bytes().toString() }).toEqual({ state: 'complete', text: typed(...pressed).text });
      }),
    );
  });

  test('is forgotten when it is cleared', () => {
    const line = new TypedLine();
    line.take(Buffer.from('secret'));
    line.clear();
    expect(line.bytes()).toHaveLength(0);
  });
});
