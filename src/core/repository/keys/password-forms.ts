import { isUtf8 } from 'node:buffer';
import { NoPasswordError } from '../../errors.ts';

/** U+FEFF, which some editors put in front of a text. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;
const FIRST_BEYOND_ASCII = 0x80;

/**
 * Returns a new password as it can be typed. Otherwise it would open the repository only from the file, command or
 * variable that it was taken from. Of what no terminal sends, a byte order mark at the beginning and one line break at
 * the end are left out.
 * @returns a part of `given`
 * @throws NoPasswordError if it has anything else that no terminal sends
 */
export function typeablePassword(given: Uint8Array): Uint8Array {
  const password = withoutMark(withoutLineBreak(given));
  const problem = problemOf(Buffer.from(password.buffer, password.byteOffset, password.length));
  if (problem === undefined) return password;
  throw new NoPasswordError(`the new password ${problem}, so nobody could type it`, {
    hint: 'Nothing was changed. Give one line of text in UTF-8, without control characters.',
  });
}

function problemOf(password: Buffer): string | undefined {
  if (password.length === 0) return 'is empty';
  if (!isUtf8(password)) return 'is not UTF-8';
  if (password.includes(LINE_FEED) || password.includes(CARRIAGE_RETURN)) return 'contains a line break';
  if (password.some((byte) => byte < SPACE || byte === DELETE)) return 'contains a control character';
  return password.includes(BYTE_ORDER_MARK) ? 'contains a byte order mark' : undefined;
}

/**
 * Returns what a password may have been when it was set: first as given, then without what no terminal sends, and with
 * its accents as characters of their own or not (NFC and NFD), which depends on the keyboard and the system. Each form is
 * tried at the cost of a password hash, so they are all different. Those but the first are valid until the next one.
 */
export function* formsOf(given: Uint8Array): Generator<Uint8Array> {
  yield given;
  let end = given.length;
  while (end > 0 && isLineBreak(given[end - 1]!)) end -= 1;
  const plain = withoutMark(given.subarray(0, end));
  if (plain.length > 0 && plain.length < given.length) yield plain;
  if (plain.every((byte) => byte < FIRST_BEYOND_ASCII) || !isUtf8(plain)) return;
  const text = Buffer.from(plain).toString();
  const known = [Buffer.from(plain)];
  try {
    for (const normal of ['NFC', 'NFD'] as const) {
      const form = Buffer.from(text.normalize(normal));
      if (known.some((each) => each.equals(form))) continue;
      known.push(form);
      yield form;
    }
  } finally {
    for (const each of known) each.fill(0);
  }
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  const hasMark = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte);
  return hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

function withoutLineBreak(bytes: Uint8Array): Uint8Array {
  if (bytes.at(-1) !== LINE_FEED) return bytes;
  return bytes.subarray(0, bytes.at(-2) === CARRIAGE_RETURN ? -2 : -1);
}

function isLineBreak(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}
