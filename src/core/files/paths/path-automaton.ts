import type { ByteString } from '../../util/byte-string.ts';
import { textOf } from '../../util/byte-string.ts';
import { compileNamePatterns, lowerCaseOf } from './path-pattern.ts';

/** How far a path has matched the patterns. */
export interface PathState {
  /** Whether the path itself matches a pattern. */
  readonly isMatch: boolean;
  /** Whether nothing below the path can match. */
  readonly isDead: boolean;
  /**
   * The names of the patterns that may come next. States with the same array have the same matches below them, and
   * states with equal positions have the same array.
   */
  readonly positions: readonly number[];
}

/** What may come at a position: a name, any number of names, or nothing, because the pattern has ended. */
type Place = RegExp | 'any-depth' | 'end';

/**
 * Matches paths with several patterns, one name at a time: a nondeterministic automaton with the names of the patterns
 * as its positions. What is found in a directory depends only on its tree and the state, so that a search can remember
 * it.
 */
export class PathAutomaton {
  /** The state of the root directory. */
  readonly start: PathState;
  /** The names of all patterns, one pattern after the other. */
  readonly #places: Place[] = [];
  /** The first position of each pattern that starts at any depth. */
  readonly #floating: number[] = [];
  readonly #ignoresCase: boolean;
  readonly #states = new Map<string, StatePair>();

  /** @throws UsageError for a malformed pattern */
  constructor(patterns: readonly string[], { ignoresCase = false }: { readonly ignoresCase?: boolean } = {}) {
    this.#ignoresCase = ignoresCase;
    const first: number[] = [];
    for (const text of patterns) {
      const { isAnchored, names } = compileNamePatterns(text, { ignoresCase });
      (isAnchored ? first : this.#floating).push(this.#places.length);
      this.#places.push(...names.map((name) => name ?? 'any-depth'), 'end');
    }
    this.start = this.#stateOf(new Set([...first, ...this.#floating]));
  }

  /** Returns the state of an entry of a directory. */
  enter(directory: PathState, name: ByteString): PathState {
    const text = this.#ignoresCase ? lowerCaseOf(textOf(name)) : textOf(name);
    const next = new Set(this.#floating);
    for (const position of directory.positions) {
      const place = this.#places[position]!;
      if (place === 'any-depth') next.add(position);
      else if ((place as RegExp).test(text)) next.add(position + 1);
    }
    return this.#stateOf(next);
  }

  /** Follows a path from the root directory. */
  follow(path: ByteString): PathState {
    const names = path.split('/').filter((name) => name !== '') as ByteString[];
    return names.reduce((state, name) => this.enter(state, name), this.start);
  }

  #stateOf(reached: Set<number>): PathState {
    // A set visits what is added meanwhile.
    for (const position of reached) if (this.#places[position] === 'any-depth') reached.add(position + 1);
    const isMatch = [...reached].some((position) => this.#places[position] === 'end');
    const positions = [...reached].filter((position) => this.#places[position] !== 'end').sort((a, b) => a - b);
    const key = positions.join();
    const known = this.#states.get(key) ?? statesOf(positions);
    this.#states.set(key, known);
    return isMatch ? known.match : known.other;
  }
}

interface StatePair {
  readonly match: PathState;
  readonly other: PathState;
}

function statesOf(positions: readonly number[]): StatePair {
  const isDead = positions.length === 0;
  return { match: { isMatch: true, isDead, positions }, other: { isMatch: false, isDead, positions } };
}
