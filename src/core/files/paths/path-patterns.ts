import type { ByteString } from '../../util/byte-string.ts';
import { joinPath, textOf } from '../../util/byte-string.ts';
import { pathOf } from '../../util/path-node.ts';
import type { PathNode } from '../../util/path-node.ts';
import { compilePathPattern, lowerCaseOf } from './path-pattern.ts';
import type { PathPattern, PathPatternOptions } from './path-pattern.ts';

/** Patterns as the user typed them. */
export interface PatternTexts {
  readonly exact?: readonly string[] | undefined;
  /** Patterns that match regardless of upper and lower case. */
  readonly ignoringCase?: readonly string[] | undefined;
}

interface UsedPattern extends PathPattern {
  hasMatched: boolean;
}

/**
 * The patterns of one option. In each of both lists the last pattern that matches decides; a path matches if one list
 * says so, as in restic. So a negated pattern is an exception only to patterns of its own list.
 */
export class PathPatterns {
  /** In reverse order. */
  readonly #lists: readonly (readonly UsedPattern[])[];
  readonly #base: ByteString;

  /**
   * `base`: the directory that places are relative to. `matchesBelow`: whether everything below a matching entry matches
   * too. Throws UsageError for a malformed pattern.
   */
  constructor(
    { exact = [], ignoringCase = [] }: PatternTexts,
    base: ByteString,
    options: Pick<PathPatternOptions, 'matchesBelow'> = {},
  ) {
    const lists = [
      usedPatterns(exact, { ...options, ignoresCase: false }),
      usedPatterns(ignoringCase, { ...options, ignoresCase: true }),
    ];
    this.#lists = lists.filter((list) => list.length > 0);
    this.#base = base;
  }

  /** `place` is relative to the base. Patterns are compared with its absolute path. */
  matches(place: PathNode): boolean {
    let isMatch = false;
    // No list is left out, so that every pattern that matches anything is known.
    for (const list of this.#lists) if (this.#listMatches(list, place)) isMatch = true;
    return isMatch;
  }

  /** Returns whether anything in a directory may match. Only for patterns that also match what is below an entry. */
  mayMatchIn(directory: PathNode): boolean {
    const path = joinPath(this.#base, pathOf(directory));
    return this.#lists.some((list) => {
      const text = list[0]!.ignoresCase ? lowerCaseOf(textOf(path)) : textOf(path);
      // In reverse order, the first exception that covers the whole directory ends the search.
      const decisive = list.find(({ isNegated, pathRegex, leadRegex }) =>
        isNegated ? pathRegex?.test(text) !== false : leadRegex?.test(text) !== false,
      );
      return decisive?.isNegated === false;
    });
  }

  #listMatches(list: readonly UsedPattern[], place: PathNode): boolean {
    const ignoresCase = list[0]!.ignoresCase;
    const shown = (text: ByteString): string => (ignoresCase ? lowerCaseOf(textOf(text)) : textOf(text));
    const nameText = shown(place.name);
    let pathText: string | undefined;
    let decision: boolean | undefined;
    for (const pattern of list) {
      // After the decision, patterns are tested only to find out whether they match anything at all.
      if (decision !== undefined && pattern.hasMatched) continue;
      if (pattern.nameRegex?.test(nameText) === false) continue;
      if (pattern.pathRegex !== undefined) {
        pathText ??= shown(joinPath(this.#base, pathOf(place)));
        if (!pattern.pathRegex.test(pathText)) continue;
      }
      pattern.hasMatched = true;
      decision ??= !pattern.isNegated;
    }
    return decision === true;
  }

  /** Returns the patterns that matched nothing, as the user typed them. */
  unmatched(): string[] {
    return this.#lists.flatMap((list) =>
      list
        .filter(({ hasMatched }) => !hasMatched)
        .map(({ text }) => text)
        .toReversed(),
    );
  }
}

function usedPatterns(texts: readonly string[], options: PathPatternOptions): UsedPattern[] {
  return texts.map((text) => ({ ...compilePathPattern(text, options), hasMatched: false })).toReversed();
}
