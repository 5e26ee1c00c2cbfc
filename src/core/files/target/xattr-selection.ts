import { UsageError } from '../../errors.ts';
import { textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { compilePathPattern } from '../paths/path-pattern.ts';
import type { PathPattern } from '../paths/path-pattern.ts';

/**
 * The extended attributes that a restore sets and removes; the others stay as they are. Threads get copies of it, so it
 * has no functions.
 */
export interface XattrSelection {
  /** Whether what matches is selected, or what does not. */
  readonly isInclude: boolean;
  /** In reverse order: the first that matches decides. */
  readonly patterns: readonly PathPattern[];
}

/** Patterns for names of extended attributes, with the meaning that patterns have for paths. */
export interface XattrPatterns {
  /** Sets and removes only what matches. */
  readonly includeXattr?: readonly string[];
  /** Leaves alone what matches. */
  readonly excludeXattr?: readonly string[];
}

/** Returns undefined if every attribute is selected. Throws UsageError for a malformed pattern, and for both kinds. */
export function selectXattrs({ includeXattr = [], excludeXattr = [] }: XattrPatterns): XattrSelection | undefined {
  if (includeXattr.length > 0 && excludeXattr.length > 0)
    throw new UsageError('patterns that include extended attributes and patterns that exclude them cannot be combined');
  const isInclude = includeXattr.length > 0;
  const texts = isInclude ? includeXattr : excludeXattr;
  if (texts.length === 0) return undefined;
  return { isInclude, patterns: texts.map((text) => compilePathPattern(text, { matchesBelow: true })).toReversed() };
}

/** Returns whether an attribute is set or removed. */
export function isSelected(name: ByteString, selection: XattrSelection | undefined): boolean {
  if (selection === undefined) return true;
  const path = `/${textOf(name)}`;
  const decisive = selection.patterns.find(({ pathRegex }) => pathRegex?.test(path) !== false);
  const isMatch = decisive?.isNegated === false;
  return isMatch === selection.isInclude;
}
