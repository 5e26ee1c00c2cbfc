import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromBytes } from '../../util/byte-string.ts';
import { compileIgnoreGlob, matchesIgnoreGlob } from './ignore-glob.ts';
import type { IgnoreGlob } from './ignore-glob.ts';

interface IgnorePattern {
  readonly isNegated: boolean;
  readonly directoriesOnly: boolean;
  /** Compared with the last name of a path, instead of the path from the directory of the file with the pattern. */
  readonly isName: boolean;
  /** The start of the text up to the first wildcard. */
  readonly start: ByteString;
  /** What follows the start; undefined if nothing does. */
  readonly glob: IgnoreGlob | undefined;
}

const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

/** The patterns of one file with the syntax of gitignore, with names as bytes. */
export class IgnorePatterns {
  /** In reverse order, because the last pattern that matches decides. */
  readonly #patterns: readonly IgnorePattern[];

  constructor(content: Uint8Array) {
    const text = byteStringFromBytes(content);
    const lines = (text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text).split('\n');
    const patterns = lines.map((line) => parseLine(withoutLineEnd(line)));
    this.#patterns = patterns.filter((pattern) => pattern !== undefined).toReversed();
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /**
   * Returns true for a path that is ignored, false for an exception, and undefined if no pattern matches. Does not look
   * at the directories above: what is in an ignored directory is ignored too, whatever the patterns say.
   * @param directory - the directory of the entry, from that of the file on: empty, or ending in a slash
   */
  decide(directory: ByteString, name: ByteString, isDirectory: boolean): boolean | undefined {
    let path: ByteString | undefined;
    for (const pattern of this.#patterns) {
      if (pattern.directoriesOnly && !isDirectory) continue;
      const text = pattern.isName ? name : (path ??= `${directory}${name}` as ByteString);
      if (matches(pattern, text)) return !pattern.isNegated;
    }
    return undefined;
  }
}

function matches({ start, glob }: IgnorePattern, text: ByteString): boolean {
  if (glob === undefined) return text === start;
  return text.startsWith(start) && matchesIgnoreGlob(glob, text, start.length);
}

/** git ends a line at a NUL byte. */
function withoutLineEnd(line: string): string {
  return line.replace(/\r$/, '').replace(/\0[^]*/, '');
}

/** Returns undefined for a line without a pattern, or with one that matches nothing. */
function parseLine(line: string): IgnorePattern | undefined {
  if (line.startsWith('#')) return undefined;
  const trimmed = withoutTrailingSpaces(line);
  const isNegated = trimmed.startsWith('!');
  const typed = isNegated ? trimmed.slice(1) : trimmed;
  const directoriesOnly = typed.endsWith('/');
  const body = directoriesOnly ? typed.slice(0, -1) : typed;
  const isName = !body.includes('/');
  const text = (body.startsWith('/') ? body.slice(1) : body) as ByteString;
  if (text === '') return undefined;
  const wildcard = text.search(/[*?[\\]/);
  const shared = { isNegated, directoriesOnly, isName };
  if (wildcard < 0) return { ...shared, start: text, glob: undefined };
  // git compiles only what follows the literal start too, so that the `**` of `a**/b` stands at the start of a name.
  const glob = compileIgnoreGlob(text.slice(wildcard) as ByteString, !isName);
  return glob === undefined ? undefined : { ...shared, start: text.slice(0, wildcard) as ByteString, glob };
}

/** A space may be escaped. Other white space is a part of the pattern. */
function withoutTrailingSpaces(line: string): string {
  let end: number | undefined;
  for (let index = 0; index < line.length; index += 1) {
    if (line[index] === ' ') {
      end ??= index;
      continue;
    }
    end = undefined;
    if (line[index] === '\\') index += 1;
  }
  return line.slice(0, end);
}
