import { posix } from 'node:path';
import { UsageError } from '../../errors.ts';

/** A compiled pattern for paths. */
export interface PathPattern {
  /** The pattern as the user typed it, including the `!` of a negated pattern. */
  readonly text: string;
  readonly isNegated: boolean;
  /** Whether names must be passed through `lowerCaseOf` before they are compared. */
  readonly ignoresCase: boolean;
  /** The last name of a path must match this, which is cheap to test. Undefined if any last name may match. */
  readonly nameRegex: RegExp | undefined;
  /** Must match the absolute path; undefined if `nameRegex` is sufficient. */
  readonly pathRegex: RegExp | undefined;
  /** The path of a directory must match this if anything in it may match. Undefined if that is always possible. */
  readonly leadRegex: RegExp | undefined;
}

export interface PathPatternOptions {
  /** Whether names are compared regardless of upper and lower case. */
  readonly ignoresCase?: boolean;
  /** Whether everything below a matching entry matches too. Default: only for a negated pattern. */
  readonly matchesBelow?: boolean;
}

const ANY_DEPTH = '**';
/** As long as a path of Linux. V8 refuses regular expressions that are four times as long, and only when they are first used. */
const PATTERN_LENGTH_MAX = 4096;
// oxlint-disable-next-line no-control-regex -- control characters are valid in names
const ASCII_ONLY = /^[\u0000-\u007f]*$/;

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
export function compilePathPattern(text: string, options: PathPatternOptions = {}): PathPattern {
  const isNegated = text.startsWith('!');
  const { ignoresCase = false, matchesBelow = isNegated } = options;
  const typed = isNegated ? text.slice(1) : text;
  const body = ignoresCase ? lowerCaseOf(typed) : typed;
  if (body === '') throw new UsageError(`the pattern ${JSON.stringify(text)} is empty`);
  const { isAnchored, names } = parsePattern(body);
  const sources = names.map((name, index) => (name === ANY_DEPTH ? undefined : nameSource(text, name, `n${index}_`)));
  const lastSource = matchesBelow ? undefined : sources.at(-1);
  const isNameEnough = names.length === 0 || (names.length === 1 && lastSource !== undefined && !isAnchored);
  return {
    text,
    isNegated,
    ignoresCase,
    nameRegex: lastSource === undefined ? undefined : new RegExp(`^${lastSource}$`, 'u'),
    pathRegex: isNameEnough
      ? undefined
      : new RegExp(`${isAnchored ? '^' : ''}${pathSource(sources)}${matchesBelow ? '(?:/|$)' : '$'}`, 'u'),
    leadRegex: isAnchored ? new RegExp(`^${leadSource(sources)}$`, 'u') : undefined,
  };
}

/** Each name after a slash. */
function pathSource(sources: readonly (string | undefined)[]): string {
  const runs = [''];
  for (const source of sources) {
    if (source === undefined) runs.push('');
    else runs.push(`${runs.pop()!}/${source}`);
  }
  return joinByWildcards(runs, { wildcard: '(?:/[^/]+)*', end: '(?=/|$)', label: 'p' });
}

/** Matches the directories above a match, and everything from there on. Behind `**`, every directory may contain one. */
function leadSource(sources: readonly (string | undefined)[]): string {
  const end = sources.indexOf(undefined);
  const fixed = end === -1 ? sources : sources.slice(0, end);
  return fixed.reduceRight<string>((rest, source) => `(?:/${source}${rest})?`, '(?:/[^]*)?');
}

/** A pattern name by name, to follow it from directory to directory. */
interface NamePatterns {
  /** Whether the first name is one in the root directory, and not at any depth. */
  readonly isAnchored: boolean;
  /** Each matches a whole name; undefined stands for any number of names. */
  readonly names: readonly (RegExp | undefined)[];
}

/**
 * Compiles a pattern to one regular expression for each name. It has the same meaning as with `compilePathPattern`, but
 * a leading `!` is an ordinary character.
 * @throws UsageError
 */
export function compileNamePatterns(
  text: string,
  { ignoresCase = false }: { readonly ignoresCase?: boolean } = {},
): NamePatterns {
  if (text === '') throw new UsageError('a pattern is empty');
  const { isAnchored, names } = parsePattern(ignoresCase ? lowerCaseOf(text) : text);
  const compiled = names.map((name) =>
    name === ANY_DEPTH ? undefined : new RegExp(`^${nameSource(text, name, 'n')}$`, 'u'),
  );
  return { isAnchored, names: compiled.length === 0 ? [undefined] : compiled };
}

function parsePattern(body: string): { readonly isAnchored: boolean; readonly names: string[] } {
  if (body.length > PATTERN_LENGTH_MAX) {
    throw new UsageError(`a pattern of ${body.length} characters is too long: ${body.slice(0, 40)}…`);
  }
  const names = splitNames(body);
  // A leading `**` is redundant: a pattern without a leading slash starts at any depth anyway.
  const isAnchored = body.startsWith('/') && names[0] !== ANY_DEPTH;
  if (names[0] === ANY_DEPTH) names.shift();
  return { isAnchored, names };
}

/**
 * Returns the text in lower case, each character by itself: the lower case of a whole text depends on the position of
 * some letters, so a pattern for a part of a name would not match.
 */
export function lowerCaseOf(text: string): string {
  if (ASCII_ONLY.test(text)) return text.toLowerCase();
  return text.replace(/\p{Changes_When_Lowercased}/gu, (character) =>
    // The only letter whose lower case has two characters; Unicode has also a simple form, which has one.
    character === '\u0130' ? 'i' : character.toLowerCase(),
  );
}

/** Returns the names of a pattern without `.`, `..` and empty names. Merges each run of `**` into one. */
function splitNames(body: string): string[] {
  const names = posix.normalize(body).split('/');
  return names.filter((name, index) => name !== '' && !(name === ANY_DEPTH && names[index + 1] === ANY_DEPTH));
}

/**
 * Joins parts that match a fixed number of characters or names each. All wildcards but the last match as little as
 * possible and are not tried again: what is left for the rest is then the longest. Otherwise a pattern such as
 * `*a*a*a*a*b` would take a time that grows with the power of its stars.
 * @param wildcard - ends with a quantifier
 * @param label - for the names of the groups, which must differ in a regular expression
 */
function joinByWildcards(
  [first = '', ...parts]: readonly string[],
  { wildcard, end, label }: { readonly wildcard: string; readonly end: string; readonly label: string },
): string {
  const last = parts.pop();
  if (last === undefined) return first;
  // JavaScript has no atomic groups; a lookahead is one, and the reference consumes what it has matched.
  const inner = parts.map((part, index) => `(?=(?<${label}${index}>${wildcard}?${part}${end}))\\k<${label}${index}>`);
  return `${first}${inner.join('')}${wildcard}${last}`;
}

/**
 * Translates one name of a pattern into the source of a regular expression.
 * @param label - as for `joinByWildcards`
 */
function nameSource(pattern: string, name: string, label: string): string {
  const parts = [''];
  ELEMENT.lastIndex = 0;
  while (ELEMENT.lastIndex < name.length) {
    const groups = ELEMENT.exec(name)?.groups;
    if (groups === undefined) {
      throw new UsageError(`the pattern ${JSON.stringify(pattern)} is malformed`, {
        hint: 'A [ needs its ], a \\ a character after it; write \\[ or \\\\ for the characters themselves.',
      });
    }
    const { star, any, except, only, escaped, literal } = groups;
    let source = '';
    if (star !== undefined) parts.push('');
    else if (any !== undefined) source = '[^/]';
    else if (except !== undefined) source = `[^/${classSource(except)}]`;
    else if (only !== undefined) source = `(?!/)[${classSource(only)}]`;
    else source = escapeForRegex(escaped ?? literal!);
    parts.push(parts.pop()! + source);
  }
  return joinByWildcards(parts, { wildcard: '[^/]*', end: '', label });
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
