import { describe, expect, test } from 'vitest';
import { formsOf, typeablePassword } from '../../../../src/core/repository/keys/password-forms.ts';

const MARK = '\uFEFF';

function forms(text: string | Buffer): string[] {
  // Each is valid until the next one.
  const found: string[] = [];
  for (const form of formsOf(Buffer.from(text as string))) found.push(Buffer.from(form).toString('latin1'));
  return found.map((form) => Buffer.from(form, 'latin1').toString());
}

describe('a new password', () => {
  test.each([
    ['secret', 'secret'],
    [`${MARK}secret`, 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    [`${MARK}secret\r\n`, 'secret'],
    [' ü 密 ', ' ü 密 '],
  ])('%j becomes %j', (given, expected) => {
    expect(Buffer.from(typeablePassword(Buffer.from(given))).toString()).toBe(expected);
  });

  test.each([
    ['secret\n\n', 'contains a line break'],
    ['secret\nsecond', 'contains a line break'],
    ['\nsecret', 'contains a line break'],
    ['secret\r', 'contains a line break'],
    ['sec\0ret', 'contains a control character'],
    ['sec\tret', 'contains a control character'],
    ['sec\u001b[Aret', 'contains a control character'],
    ['secret\u007f', 'contains a control character'],
    [`${MARK}${MARK}secret`, 'contains a byte order mark'],
    [`sec${MARK}ret`, 'contains a byte order mark'],
    [MARK, 'is empty'],
    [`${MARK}\n`, 'is empty'],
    [Buffer.from('sécret', 'latin1'), 'is not UTF-8'],
    [Buffer.from('\uFEFFsécret', 'utf16le'), 'is not UTF-8'],
  ])('%j is refused: it %s', (given, problem) => {
    expect(() => typeablePassword(Buffer.from(given as string))).toThrow(
      expect.objectContaining({ code: 'NO_PASSWORD', message: `the new password ${problem}, so nobody could type it` }),
    );
  });
});

describe('the forms of a password', () => {
  const [nfc, nfd] = ['é', 'e\u0301'];

  test.each([
    ['secret', ['secret']],
    [`${MARK}secret`, [`${MARK}secret`, 'secret']],
    ['secret\n', ['secret\n', 'secret']],
    [`${MARK}secret\r\n\n`, [`${MARK}secret\r\n\n`, 'secret']],
    ['secret\nsecond', ['secret\nsecond']],
    [nfc, [nfc, nfd]],
    [nfd, [nfd, nfc]],
    [nfc + nfd, [nfc + nfd, nfc + nfc, nfd + nfd]],
    [`${MARK}${nfd}\n`, [`${MARK}${nfd}\n`, nfd, nfc]],
    [MARK, [MARK]],
    ['密', ['密']],
  ])('%j are %j', (given, expected) => {
    expect(forms(given)).toEqual(expected);
  });

  test('that is not UTF-8 are what was given', () => {
    const given = Buffer.from('é', 'latin1');
    expect([...formsOf(given)]).toEqual([given]);
  });

  test('are gone after use', () => {
    const kept: Uint8Array[] = [];
    for (const form of formsOf(Buffer.from(nfd))) {
      kept.push(form);
      if (kept.length === 2) break;
    }
    expect(Buffer.from(kept[1]!)).toEqual(Buffer.alloc(2));
  });
});
