/** Chains of one kind: by link position, as they are walked, or in the cells of a DIBF. */
export interface ChainStatistics {
  /** How many places have a chain. */
  readonly count: number;
  /** Chunks on such a chain. */
  readonly mean: number;
  readonly max: number;
  /** At index l: how many places have a chain of l chunks. Index 0 is always 0. */
  readonly histogram: number[];
  /** Chunks that are visited to find one that is there: a chain of l needs 1 to l, (l + 1) / 2 in the mean. */
  readonly meanVisited: number;
}

/** @param histogram - at index l: how many chains have l chunks; indexes that no chain has may be missing. */
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

export interface LdmChains {
  /** As the LDM paper defines them: the chunks with exactly the same link position. */
  readonly byLink: ChainStatistics;
  /** What a look-up walks: the chunks on one chain head, which neighbouring link positions share. */
  readonly walked: ChainStatistics;
}

/** What `measureChains` needs of a filter. */
export interface ChainView {
  forEachLiveInChainOrder(visit: (entry: number, link: number) => void): void;
  headOf(link: number): number;
}

export function measureChains(filter: ChainView): LdmChains {
  const byLink = new RunLengths();
  const walked = new RunLengths();
  filter.forEachLiveInChainOrder((_entry, link) => {
    byLink.add(link);
    walked.add(filter.headOf(link));
  });
  return { byLink: describeChains(byLink.finish()), walked: describeChains(walked.finish()) };
}

/** Counts how long the runs of equal numbers are in numbers that come in order. */
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
