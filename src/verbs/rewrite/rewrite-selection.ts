import { UsageError } from '../../core/errors.ts';
import { PathPatterns } from '../../core/files/paths/path-patterns.ts';
import type { PatternTexts } from '../../core/files/paths/path-patterns.ts';
import type { OptionKinds } from '../../core/session/arguments.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

export const PATTERN_KINDS: OptionKinds<Required<PatternTexts>> = { exact: 'texts', ignoringCase: 'texts' };

/** Which entries stay in a snapshot. Patterns of one kind only. */
export interface RewritePatterns {
  /** Patterns as for a backup: what matches is left out. */
  readonly patterns?: PatternTexts;
  /** Only what matches stays, with all below it and the directories that lead to it. A snapshot in which nothing matches stays as it is. Not together with `patterns`. */
  readonly include?: PatternTexts;
}

/** What stays in a snapshot. The patterns that include must also match what is below an entry. */
export interface RewriteSelection {
  /** Whether what matches stays, or what does not. */
  readonly isInclude: boolean;
  readonly patterns: PathPatterns;
}

/** Returns whether there are any. Throws UsageError if there are patterns of both kinds. */
export function checkRewritePatterns({ patterns, include }: RewritePatterns): boolean {
  const [excludes, includes] = [textsOf(patterns), textsOf(include)];
  if (excludes.length > 0 && includes.length > 0) {
    throw new UsageError('patterns can include or exclude, but not both', {
      hint: 'To leave out a part of what is included, add a pattern that begins with ! after the others.',
    });
  }
  return excludes.length + includes.length > 0;
}

/** The patterns as the user typed them. */
export function textsOf({ exact = [], ignoringCase = [] }: PatternTexts = {}): readonly string[] {
  return [...exact, ...ignoringCase];
}

/** Compiles the patterns for a snapshot with this base. Throws UsageError. */
export function selectionOf({ patterns, include }: RewritePatterns, base: ByteString): RewriteSelection {
  const isInclude = textsOf(include).length > 0;
  const compiled = isInclude
    ? new PathPatterns(include!, base, { matchesBelow: true })
    : new PathPatterns(patterns ?? {}, base);
  return { isInclude, patterns: compiled };
}
