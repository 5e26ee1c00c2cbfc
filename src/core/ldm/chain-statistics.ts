import type { FilterPlan } from './formulas.ts';
import { headOfLink } from './positions.ts';

/**
 * Statistics about one kind of chain: chains by link position, those of a saved filter, those that a look-up walks, or the cells of a DIBF.
 */
export interface ChainStatistics {
  /** Number of non-empty chains. */
  readonly count: number;
  /** Mean number of chunks on a non-empty chain. */
  readonly mean: number;
  readonly max: number;
  /** `histogram[l]` is the number of chains with l chunks. Index 0 is always 0. */
  readonly histogram: number[];
  /** Mean number of entries visited to find a chunk that is present: (l + 1) / 2 on a chain of l chunks. */
  readonly meanVisited: number;
}

/** @param histogram - `histogram[l]` is the number of chains with l chunks; holes count as 0. */
export function describeChains(histogram: readonly number[]): ChainStatistics {
  const counts = Array.from(histogram, (count, length) => (length === 0 ? 0 : (count ?? 0)));
  let count = 0;
  let chunks = 0;
  let visited = 0;
  for (const [length, chains] of counts.entries()) {
    count += chains;
    chunks += chains * length;
    visited += (chains * length * (length + 1)) / 2;
  }
  return {
    count,
    mean: count === 0 ? 0 : chunks / count,
    max: counts.length - 1,
    histogram: counts,
    meanVisited: chunks === 0 ? 0 : visited / chunks,
  };
}

interface LdmChains {
  /** Chains as the LDM paper defines them: the chunks with exactly the same link position. */
  readonly byLink: ChainStatistics;
  /** The chunks under one chain head of a saved filter, which neighbouring link positions share. */
  readonly saved: ChainStatistics;
  /** The chains that a look-up walks: in memory, each pair of neighbouring chains of a saved filter is one. */
  readonly walked: ChainStatistics;
}

/** The part of a filter that `measureChains` uses. */
export interface ChainView {
  readonly plan: FilterPlan;
  forEachLiveInChainOrder(visit: (entry: number, link: number) => void): void;
  forEachChainLength(visit: (length: number) => void): void;
}

export function measureChains(filter: ChainView): LdmChains {
  const byLink = new RunLengths();
  const saved = new RunLengths();
  filter.forEachLiveInChainOrder((_entry, link) => {
    byLink.add(link);
    saved.add(headOfLink(link, filter.plan));
  });
  const walked: number[] = [0];
  filter.forEachChainLength((length) => {
    if (length > 0) walked[length] = (walked[length] ?? 0) + 1;
  });
  return {
    byLink: describeChains(byLink.finish()),
    saved: describeChains(saved.finish()),
    walked: describeChains(walked),
  };
}

/** Builds a histogram of the lengths of runs of equal numbers in an ordered sequence. */
class RunLengths {
  readonly #histogram: number[] = [0];
  #last = -1;
  #length = 0;

  add(place: number): void {
    if (place !== this.#last) this.#endRun();
    this.#last = place;
    this.#length++;
  }

  finish(): number[] {
    this.#endRun();
    return this.#histogram;
  }

  #endRun(): void {
    if (this.#length > 0) this.#histogram[this.#length] = (this.#histogram[this.#length] ?? 0) + 1;
    this.#length = 0;
  }
}
