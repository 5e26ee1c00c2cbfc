import { compilePathPattern } from '../../files/path-pattern.ts';
import type { PathPattern } from '../../files/path-pattern.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath, textOf } from '../../util/byte-string.ts';
import { pathOf } from '../../util/path-node.ts';
import type { PathNode } from '../../util/path-node.ts';

interface UsedPattern extends PathPattern {
  hasMatched: boolean;
}

/**
 * Decides which entries below the roots are excluded. Patterns are compared with absolute paths of this machine, so
 * their meaning does not depend on the other sources of the backup. Roots are not tested: a named source is always
 * saved.
 */
export class Exclusion {
  /** In reverse order, because the last matching pattern decides. */
  readonly #patterns: readonly UsedPattern[];
  readonly #base: ByteString;

  /** `base`: the directory that the paths are relative to. Throws UsageError for a malformed pattern. */
  constructor(patterns: readonly string[], base: ByteString) {
    this.#patterns = patterns.map((text) => ({ ...compilePathPattern(text), hasMatched: false })).toReversed();
    this.#base = base;
  }

  /** `place` is relative to `base`. */
  isExcluded(place: PathNode): boolean {
    if (this.#patterns.length === 0) return false;
    const nameText = textOf(place.name);
    let pathText: string | undefined;
    let decision: boolean | undefined;
    for (const pattern of this.#patterns) {
      // After the decision, patterns are tested only to find out whether they match anything at all.
      if (decision !== undefined && pattern.hasMatched) continue;
      if (pattern.nameRegex?.test(nameText) === false) continue;
      if (pattern.pathRegex !== undefined) {
        pathText ??= textOf(joinPath(this.#base, pathOf(place)));
        if (!pattern.pathRegex.test(pathText)) continue;
      }
      pattern.hasMatched = true;
      decision ??= !pattern.isNegated;
    }
    return decision === true;
  }

  /** Returns the patterns that matched nothing, as the user typed them. */
  unmatched(): string[] {
    return this.#patterns
      .filter(({ hasMatched }) => !hasMatched)
      .map(({ text }) => text)
      .toReversed();
  }
}
