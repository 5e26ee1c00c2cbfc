import type { ByteString } from '../../core/util/byte-string.ts';
import { isUtf8, textOf } from '../../core/util/byte-string.ts';

/**
 * Control characters (C0, DEL, C1), line and paragraph separators, bidirectional control characters, the byte order
 * mark, and halves of surrogate pairs.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/gu;

/** One well-formed UTF-8 sequence in a string of bytes, or any single byte. */
const UTF8_SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- bytes below 0x20 are well-formed too
  /[\u0000-\u007f]|[\u00c2-\u00df][\u0080-\u00bf]|\u00e0[\u00a0-\u00bf][\u0080-\u00bf]|[\u00e1-\u00ec\u00ee\u00ef][\u0080-\u00bf]{2}|\u00ed[\u0080-\u009f][\u0080-\u00bf]|\u00f0[\u0090-\u00bf][\u0080-\u00bf]{2}|[\u00f1-\u00f3][\u0080-\u00bf]{3}|\u00f4[\u0080-\u008f][\u0080-\u00bf]{2}|[\u0080-\u00ff]/g;

/**
 * Replaces everything that could control a terminal by `\xNN` or `\u{...}`: a file name must not move the cursor,
 * change colours, end a line or reverse the direction of the text in a listing.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0)!;
    return code <= 0xff ? escapeByte(code) : `\\u{${code.toString(16)}}`;
  });
}

/**
 * Formats a path of bytes for a terminal. Bytes that are not well-formed UTF-8 become `\xNN`, so no names look alike.
 */
export function displayPath(path: ByteString): string {
  if (isUtf8(path)) return escapeForTerminal(textOf(path));
  return path.replace(UTF8_SEQUENCE, (sequence) => {
    const isMalformed = sequence.length === 1 && sequence.charCodeAt(0) >= 0x80;
    return isMalformed ? escapeByte(sequence.charCodeAt(0)) : escapeForTerminal(textOf(sequence as ByteString));
  });
}

function escapeByte(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}
