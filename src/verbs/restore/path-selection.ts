import { UsageError } from '../../core/errors.ts';
import { PathPatterns } from '../../core/files/paths/path-patterns.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';

/** Patterns with restic's meaning. Either those that include or those that exclude may be given. */
export interface SelectionPatterns {
  /** Restores only what matches one of these, and everything below it. */
  readonly include?: readonly string[];
  /** The same regardless of upper and lower case. */
  readonly iinclude?: readonly string[];
  /** Leaves out what matches one of these, and everything below it. */
  readonly exclude?: readonly string[];
  readonly iexclude?: readonly string[];
}

const ROOT = '/' as ByteString;

/**
 * Returns what the patterns select in a directory of a snapshot with this base, or undefined if there are none. With a
 * path in the selector, which gives the directory, patterns are relative to it.
 */
export function selectionIn(
  directory: ByteString,
  patterns: SelectionPatterns,
  base: ByteString,
): PathSelection | undefined {
  if (!checkSelectionPatterns(patterns)) return undefined;
  return new PathSelection(patterns, directory === '' ? base : ROOT);
}

/** Decides which paths of a snapshot are restored. */
export class PathSelection {
  /** What the patterns do. */
  readonly kind: 'include' | 'exclude';
  readonly #patterns: PathPatterns;
  readonly #isNothing: boolean;

  /** `base`: the directory that places are relative to. Throws UsageError for a malformed pattern. */
  constructor({ include, iinclude, exclude, iexclude }: SelectionPatterns, base: ByteString) {
    this.kind = isGiven(include) || isGiven(iinclude) ? 'include' : 'exclude';
    const texts =
      this.kind === 'include' ? { exact: include, ignoringCase: iinclude } : { exact: exclude, ignoringCase: iexclude };
    this.#patterns = new PathPatterns(texts, base, this.kind === 'include' ? { matchesBelow: true } : {});
    const above = this.kind === 'exclude' ? nodesOf(base) : [];
    const atRoot = new PathPatterns(texts, ROOT);
    this.#isNothing = above.some((node) => atRoot.matches(node));
  }

  /** Call it for everything that is not below an excluded directory. */
  selects(place: PathNode): boolean {
    if (this.kind === 'include') return this.#patterns.matches(place);
    return !this.#isNothing && !this.#patterns.matches(place);
  }

  /** Returns whether a directory that is not selected may contain something that is. */
  leadsOn(directory: PathNode): boolean {
    return this.kind === 'include' && this.#patterns.mayMatchIn(directory);
  }

  /** Returns the patterns that matched nothing, as the user typed them. */
  unmatched(): string[] {
    return this.#isNothing ? [] : this.#patterns.unmatched();
  }
}

/** Throws UsageError if there are patterns of both kinds. Returns whether there are any. */
export function checkSelectionPatterns({ include, iinclude, exclude, iexclude }: SelectionPatterns): boolean {
  const includes = isGiven(include) || isGiven(iinclude);
  const excludes = isGiven(exclude) || isGiven(iexclude);
  if (includes && excludes) {
    throw new UsageError('patterns can include or exclude, but not both', {
      hint: 'To leave out a part of what is included, add a pattern that begins with ! after the others.',
    });
  }
  return includes || excludes;
}

function isGiven(patterns: readonly string[] | undefined): boolean {
  return patterns !== undefined && patterns.length > 0;
}

/** Returns the directories from the root of the file system to a path. */
function nodesOf(path: ByteString): PathNode[] {
  const nodes: PathNode[] = [];
  for (const name of path.split('/') as ByteString[]) {
    if (name !== '') nodes.push({ parent: nodes.at(-1), name });
  }
  return nodes;
}
