import type { ByteString } from '../../util/byte-string.ts';
import { readByteClass } from '../paths/byte-class.ts';

/** A byte is its own token. */
const ANY_BYTE = 256;
const STAR = 257;
/** `**` at the end: whatever follows. */
const REST = 258;
/** `**` and a slash: here, or after any slash. */
const ANY_DIRECTORIES = 259;
/** `**` and an escaped slash: after any slash. */
const SOME_DIRECTORIES = 260;

const SLASH = 0x2f;

/** A compiled glob. A token is a number from above, or 256 flags for the bytes of a class. */
export type IgnoreGlob = readonly (number | Uint8Array)[];

/**
 * Compiles the glob of a gitignore pattern as git's `wildmatch` reads it: `*` and `?` stop at a slash, `**` between
 * slashes matches any number of directories, classes in brackets consist of bytes. Returns undefined for a malformed
 * one, which matches nothing.
 * @param isPath - whether it is compared with a path. In the glob of a single name, `**` means `*`.
 */
export function compileIgnoreGlob(text: ByteString, isPath: boolean): IgnoreGlob | undefined {
  const tokens: (number | Uint8Array)[] = [];
  let index = 0;
  while (index < text.length) {
    const character = text[index]!;
    if (character === '*') {
      const end = endOfStars(text, index);
      const isWhole = isPath && end - index > 1 && (index === 0 || text[index - 1] === '/');
      const [token, length] = isWhole ? readDirectories(text.slice(end, end + 2)) : [STAR, 0];
      tokens.push(token);
      index = end + length;
    } else if (character === '[') {
      const found = readByteClass(text, index + 1);
      if (found === undefined) return undefined;
      // A slash is matched by a slash only.
      found.bytes[SLASH] = 0;
      tokens.push(found.bytes);
      index = found.end;
    } else if (character === '\\') {
      if (index + 1 === text.length) return undefined;
      tokens.push(text.charCodeAt(index + 1));
      index += 2;
    } else {
      tokens.push(character === '?' ? ANY_BYTE : text.charCodeAt(index));
      index += 1;
    }
  }
  return tokens;
}

function endOfStars(text: string, start: number): number {
  let end = start;
  while (text[end] === '*') end += 1;
  return end;
}

/** Returns the token of a `**` that stands at the start of a name, and the length of what it includes of the rest. */
function readDirectories(next: string): readonly [token: number, length: number] {
  if (next === '') return [REST, 0];
  if (next.startsWith('/')) return [ANY_DIRECTORIES, 1];
  return next === '\\/' ? [SOME_DIRECTORIES, 2] : [STAR, 0];
}

/**
 * Returns whether the text from `start` on matches. Takes time in proportion to the product of both lengths and the
 * number of slashes at most: a pattern that a user has written must not keep a backup busy.
 *
 * After a mismatch, only the last star, and else the last `**`, has to match more. What the wildcards before it match is
 * as short as possible already, so another choice there would leave less for the rest.
 */
export function matchesIgnoreGlob(glob: IgnoreGlob, text: ByteString, start: number): boolean {
  let token = 0;
  let position = start;
  let starToken = -1;
  let starPosition = 0;
  let directoryToken = -1;
  let directoryPosition = 0;
  for (;;) {
    const wanted = glob[token];
    if (wanted === STAR) {
      token += 1;
      starToken = token;
      starPosition = position;
      continue;
    }
    if (wanted === ANY_DIRECTORIES || wanted === SOME_DIRECTORIES) {
      token += 1;
      directoryToken = token;
      directoryPosition = position;
      starToken = -1;
      if (wanted === ANY_DIRECTORIES) continue;
    } else if (wanted === REST || (wanted === undefined && position === text.length)) {
      return true;
    } else if (wanted !== undefined && position < text.length && matchesByte(wanted, text.charCodeAt(position))) {
      token += 1;
      position += 1;
      continue;
    }
    if (starToken >= 0 && starPosition < text.length && text.charCodeAt(starPosition) !== SLASH) {
      starPosition += 1;
      position = starPosition;
      token = starToken;
      continue;
    }
    const slash = directoryToken < 0 ? -1 : text.indexOf('/', directoryPosition);
    if (slash < 0) return false;
    directoryPosition = slash + 1;
    position = directoryPosition;
    token = directoryToken;
    starToken = -1;
  }
}

function matchesByte(wanted: number | Uint8Array, byte: number): boolean {
  if (typeof wanted !== 'number') return wanted[byte] === 1;
  return wanted === byte || (wanted === ANY_BYTE && byte !== SLASH);
}
