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
 * Decides by their names which entries below the roots are excluded. Paths are compared as they are on this machine, so
 * that a pattern means the same whatever other sources are named. The roots themselves are never asked about: what was
 * named is saved.
 */
export class Exclusion {
  /** Last first, because the last pattern that matches decides. */
  readonly #patterns: readonly UsedPattern[];
  readonly #base: ByteString;

  /** `base`: the directory that the paths are relative to. Throws UsageError for a malformed pattern. */
  constructor(patterns: readonly string[], base: ByteString) {
    this.#patterns = patterns.map((text) => ({ ...compilePathPattern(text), hasMatched: false })).toReversed();
    this.#base = base;
  }

  /** `place`: relative to `base`. */
  isExcluded(place: PathNode): boolean {
    if (this.#patterns.length === 0) return false;
    const nameText = textOf(place.name);
    let pathText: string | undefined;
    let decision: boolean | undefined;
    for (const pattern of this.#patterns) {
      // Once it is decided, the other patterns are only tested to learn whether they match anything at all.
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

  /** The patterns that matched nothing, as they were typed. */
  unmatched(): string[] {
    return this.#patterns
      .filter(({ hasMatched }) => !hasMatched)
      .map(({ text }) => text)
      .toReversed();
  }
}
