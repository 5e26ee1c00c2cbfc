import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { displayPath, escapeForTerminal } from '../../../src/console/output/display-path.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { bytes } from '../../core/files/sample-entry.ts';
import { testProperty } from '../../support/property.ts';

describe('escapeForTerminal', () => {
  it.each([
    ['plain é 😀 \\x', 'plain é 😀 \\x'],
    ['a\nb\tc\r', 'a\\x0ab\\x09c\\x0d'],
    ['\u001b]0;title\u0007', '\\x1b]0;title\\x07'],
    ['\u007f\u009b31m', '\\x7f\\x9b31m'],
    ['safe\u202etxt.exe', 'safe\\u{202e}txt.exe'],
    ['\u2066\u2069\u200f\u061c\u2028\ufeff', '\\u{2066}\\u{2069}\\u{200f}\\u{61c}\\u{2028}\\u{feff}'],
    ['half \ud800', 'half \\u{d800}'],
  ])('%j becomes %j', (text, expected) => {
    expect(escapeForTerminal(text)).toBe(expected);
  });
});

describe('displayPath', () => {
  it('shows bytes that are not UTF-8 as numbers, and the rest as text', () => {
    expect(displayPath(bytes('/é/', 0xff, 'x', 0xc3, '(', 0x0a, '😀'))).toBe('/é/\\xffx\\xc3(\\x0a😀');
    // Overlong forms, surrogates and an end too soon are not UTF-8 either.
    expect(displayPath(bytes(0xc0, 0xaf))).toBe('\\xc0\\xaf');
    expect(displayPath(bytes(0xed, 0xa0, 0x80))).toBe('\\xed\\xa0\\x80');
    expect(displayPath(bytes('a', 0xf0, 0x9f))).toBe('a\\xf0\\x9f');
    expect(displayPath(byteStringFromText('é\u001b'))).toBe('é\\x1b');
  });

  testProperty('never lets a control character through, nor a replacement', (check) => {
    check(
      fc.property(fc.uint8Array(), (name) => {
        const text = displayPath(byteStringFromBytes(name));
        expect(text).toBe(escapeForTerminal(text));
        if (!Buffer.from(name).includes(Buffer.from('\ufffd'))) expect(text).not.toContain('\ufffd');
      }),
    );
  });
});
