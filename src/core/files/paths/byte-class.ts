import type { ByteString } from '../../util/byte-string.ts';

/** The classes with names, for ASCII; other bytes are in none of them. git has no vertical tab and form feed in `space`. */
const NAMED: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // oxlint-disable-next-line no-control-regex -- it is the class of control characters
  cntrl: /[\u0000-\u001f\u007f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** A class: a flag for each byte, and where its text ends. */
interface ByteClass {
  readonly bytes: Uint8Array;
  readonly end: number;
}

/**
 * Reads a class in brackets as git's `wildmatch` does: `!` or `^` negates it, a `]` at its start is a part of it, and a
 * backslash escapes. Returns undefined if it is malformed.
 * @param start - the index after the opening bracket
 */
export function readByteClass(text: ByteString, start: number): ByteClass | undefined {
  const bytes = new Uint8Array(256);
  const isNegated = text[start] === '!' || text[start] === '^';
  let index = isNegated ? start + 1 : start;
  /** The start of a range, if a hyphen follows. */
  let low: number | undefined;
  do {
    const next = readElement(text, index, low, bytes);
    if (next === undefined) return undefined;
    ({ index, low } = next);
  } while (text[index] !== ']');
  return { bytes: isNegated ? bytes.map((flag) => 1 - flag) : bytes, end: index + 1 };
}

interface ElementEnd {
  readonly index: number;
  readonly low: number | undefined;
}

/** Adds a byte, a range or a class with a name. Undefined: the text ends within the class, or the name is unknown. */
function readElement(
  text: ByteString,
  index: number,
  low: number | undefined,
  bytes: Uint8Array,
): ElementEnd | undefined {
  if (index >= text.length) return undefined;
  if (text[index] === '-' && low !== undefined && index + 1 < text.length && text[index + 1] !== ']') {
    const high = readByte(text, index + 1);
    if (high === undefined) return undefined;
    if (low <= high.byte) bytes.fill(1, low, high.byte + 1);
    return { index: high.end, low: undefined };
  }
  if (text.startsWith('[:', index)) {
    const end = text.indexOf(']', index + 2);
    if (end < 0) return undefined;
    if (end > index + 2 && text[end - 1] === ':') {
      const named = NAMED[text.slice(index + 2, end - 1)];
      if (named === undefined) return undefined;
      for (let byte = 0; byte < 256; byte += 1) if (named.test(String.fromCharCode(byte))) bytes[byte] = 1;
      return { index: end + 1, low: undefined };
    }
  }
  const single = readByte(text, index);
  if (single === undefined) return undefined;
  bytes[single.byte] = 1;
  return { index: single.end, low: single.byte };
}

function readByte(text: ByteString, index: number): { readonly byte: number; readonly end: number } | undefined {
  const at = text[index] === '\\' ? index + 1 : index;
  return at < text.length ? { byte: text.charCodeAt(at), end: at + 1 } : undefined;
}
