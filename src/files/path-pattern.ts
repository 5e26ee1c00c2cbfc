import { posix } from 'node:path';
import { UsageError } from '../errors.ts';

/** A compiled pattern for paths. */
export interface PathPattern {
  /** The pattern as the user typed it, including the `!` of a negated pattern. */
  readonly text: string;
  readonly isNegated: boolean;
  /** The last name of a path must match this, which is cheap to test. Undefined if any last name may match. */
  readonly nameRegex: RegExp | undefined;
  /** Must match the absolute path; undefined if `nameRegex` is sufficient. */
  readonly pathRegex: RegExp | undefined;
}

const ANY_DEPTH = '**';

const CLASS_CHARACTER = String.raw`(?:\\.|[^\\\]\-])`;
const CLASS_RANGES = String.raw`(?:${CLASS_CHARACTER}(?:-${CLASS_CHARACTER})?)+`;
/** One element of Go's `filepath.Match`. It allows neither an empty class nor an unescaped `-` or `]` in one. */
const ELEMENT = new RegExp(
  String.raw`(?<star>\*+)|(?<any>\?)|\[(?:\^(?<except>${CLASS_RANGES})|(?!\^)(?<only>${CLASS_RANGES}))\]|\\(?<escaped>.)|(?<literal>[^\\*?[])`,
  'suy',
);
const CLASS_RANGE = new RegExp(`(?<low>${CLASS_CHARACTER})(?:-(?<high>${CLASS_CHARACTER}))?`, 'gsu');

/**
 * Compiles a pattern with the same meaning as in restic: each name between slashes follows Go's `filepath.Match` (`*`,
 * `?`, `[a-z]`, `[^a-z]`, `\`), `**` matches any number of names, and a trailing slash is ignored. A pattern without a
 * leading slash matches at any depth.
 *
 * A pattern matches an entry itself; nothing below an excluded directory is visited. A negated pattern also matches
 * everything below the entry, because it overrides the patterns before it there too.
 *
 * No glob library is used, because they give a meaning to parentheses and braces, which are common in file names.
 * @throws UsageError
 */
export function compilePathPattern(text: string): PathPattern {
  const isNegated = text.startsWith('!');
  const body = isNegated ? text.slice(1) : text;
  if (body === '') throw new UsageError(`the pattern ${JSON.stringify(text)} is empty`);
  const names = splitNames(body);
  // A leading `**` is redundant: a pattern without a leading slash starts at any depth anyway.
  const isAnchored = body.startsWith('/') && names[0] !== ANY_DEPTH;
  if (names[0] === ANY_DEPTH) names.shift();
  const sources = names.map((name) => (name === ANY_DEPTH ? undefined : nameSource(text, name)));
  const lastSource = isNegated ? undefined : sources.at(-1);
  const path = sources.map((source) => (source === undefined ? '(?:/[^/]+)*' : `/${source}`)).join('');
  const isNameEnough = names.length === 0 || (names.length === 1 && lastSource !== undefined && !isAnchored);
  return {
    text,
    isNegated,
    nameRegex: lastSource === undefined ? undefined : new RegExp(`^${lastSource}$`, 'u'),
    pathRegex: isNameEnough
      ? undefined
      : new RegExp(`${isAnchored ? '^' : ''}${path}${isNegated ? '(?:/|$)' : '$'}`, 'u'),
  };
}

/** Returns the names of a pattern without `.`, `..` and empty names. Merges each run of `**` into one. */
function splitNames(body: string): string[] {
  const names = posix.normalize(body).split('/');
  return names.filter((name, index) => name !== '' && !(name === ANY_DEPTH && names[index + 1] === ANY_DEPTH));
}

/** Translates one name of a pattern into the source of a regular expression. */
function nameSource(pattern: string, name: string): string {
  let source = '';
  ELEMENT.lastIndex = 0;
  while (ELEMENT.lastIndex < name.length) {
    const groups = ELEMENT.exec(name)?.groups;
    if (groups === undefined) {
      throw new UsageError(`the pattern ${JSON.stringify(pattern)} is malformed`, {
        hint: 'A [ needs its ], a \\ a character after it; write \\[ or \\\\ for the characters themselves.',
      });
    }
    const { star, any, except, only, escaped, literal } = groups;
    if (star !== undefined) source += '[^/]*';
    else if (any !== undefined) source += '[^/]';
    else if (except !== undefined) source += `[^/${classSource(except)}]`;
    else if (only !== undefined) source += `(?!/)[${classSource(only)}]`;
    else source += escapeForRegex(escaped ?? literal!);
  }
  return source;
}

/** Returns the ranges of a class. A range that ends before its start matches nothing. */
function classSource(ranges: string): string {
  let source = '';
  for (const { groups } of ranges.matchAll(CLASS_RANGE)) {
    const low = unescaped(groups!['low']!);
    const high = unescaped(groups!['high'] ?? groups!['low']!);
    if (low <= high) source += `\\u{${low.toString(16)}}-\\u{${high.toString(16)}}`;
  }
  return source;
}

function unescaped(character: string): number {
  return character.codePointAt(character.length > 1 && character.startsWith('\\') ? 1 : 0)!;
}

function escapeForRegex(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
}
