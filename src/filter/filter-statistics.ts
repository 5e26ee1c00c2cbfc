import { COUNTER_BITS, COUNTER_MAX, type CounterArray } from './counters.ts';
import { falsePositiveRate, type FilterPlan } from './formulas.ts';
import { ID_BYTES } from './positions.ts';
import { fillRandomIds, randomWords } from './random-ids.ts';

export interface ChainStatistics {
  /** Link positions that have a chain. */
  readonly count: number;
  /** Chunks on such a chain. */
  readonly mean: number;
  readonly max: number;
  /** At index l: how many link positions have a chain of l chunks. Index 0 is always 0. */
  readonly histogram: number[];
}

export interface FilterStatistics {
  /** n: live chunks. */
  readonly elements: number;
  /** m */
  readonly positions: number;
  /** k */
  readonly hashes: number;
  readonly counterBits: number;
  /** The part of the counters that are not 0. */
  readonly fillRatio: number;
  /** By formula (1) for the present n. */
  readonly fprPredicted: number;
  /** From probes with ids that are absent. */
  readonly fprMeasured: number;
  /** How many ids were probed, and the seed that they come from. */
  readonly fprProbes: { readonly count: number; readonly seed: number };
  /** At index c: how many counters are at c. */
  readonly counterHistogram: readonly number[];
  readonly counterMax: number;
  /** Counters that lost count. */
  readonly saturated: number;
  readonly memoryBytes: number;
  /** n_max: how many live chunks fit before the filter grows. */
  readonly capacity: number;
  readonly chains: ChainStatistics;
}

/** What the statistics need of a filter. */
export interface FilterView {
  readonly plan: FilterPlan;
  readonly liveCount: number;
  readonly memoryBytes: number;
  mayBeLive(ids: Uint8Array, offset: number): boolean;
  forEachLiveInChainOrder(visit: (entry: number, link: number) => void): void;
}

/** Enough to measure a rate of 0.01 to within 2 % (one standard deviation), and less than 0.1 s. */
const PROBE_COUNT = 2 ** 18;
const PROBE_SEED = 20;

export function collectStatistics(filter: FilterView, counters: CounterArray): FilterStatistics {
  const { positions, hashes, capacity } = filter.plan;
  const counts = counters.histogram();
  return {
    elements: filter.liveCount,
    positions,
    hashes,
    counterBits: COUNTER_BITS,
    fillRatio: 1 - counts[0]! / positions,
    fprPredicted: falsePositiveRate(positions, filter.liveCount, hashes),
    fprMeasured: measureFalsePositives(filter, PROBE_COUNT, PROBE_SEED),
    fprProbes: { count: PROBE_COUNT, seed: PROBE_SEED },
    counterHistogram: counts,
    counterMax: counts.findLastIndex((count) => count > 0),
    saturated: counts[COUNTER_MAX]!,
    memoryBytes: filter.memoryBytes,
    capacity,
    chains: measureChains(filter),
  };
}

/** The part of random ids, absent all of them, for which the counters cannot rule out that they are there. */
export function measureFalsePositives(filter: FilterView, probeCount: number, seed: number): number {
  const nextWord = randomWords(seed);
  const id = new Uint8Array(ID_BYTES);
  let positives = 0;
  for (let probe = 0; probe < probeCount; probe++) {
    fillRandomIds(id, nextWord);
    if (filter.mayBeLive(id, 0)) positives++;
  }
  return positives / probeCount;
}

/** Chains by exact link position, although neighbours share a head. */
export function measureChains(filter: Pick<FilterView, 'liveCount' | 'forEachLiveInChainOrder'>): ChainStatistics {
  const histogram = [0];
  let count = 0;
  let lastLink = -1;
  let length = 0;
  const endChain = (): void => {
    if (length > 0) histogram[length] = (histogram[length] ?? 0) + 1;
  };
  filter.forEachLiveInChainOrder((_entry, link) => {
    if (link !== lastLink) {
      endChain();
      lastLink = link;
      length = 0;
      count++;
    }
    length++;
  });
  endChain();
  // A length that no chain has would be a hole in the array.
  for (let index = 0; index < histogram.length; index++) histogram[index] ??= 0;
  return { count, mean: count === 0 ? 0 : filter.liveCount / count, max: histogram.length - 1, histogram };
}
