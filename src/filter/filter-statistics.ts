import { measureChains, type ChainStatistics, type ChainView } from './chain-statistics.ts';
import { COUNTER_BITS, COUNTER_MAX, type CounterArray } from './counters.ts';
import { predictedRate, type FilterPlan } from './formulas.ts';
import { ID_BYTES } from './positions.ts';
import { fillRandomIds, randomWords } from './random-ids.ts';

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
  /** For the present n, by formula (1) and the repeats that double hashing adds. */
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
  /** As the LDM paper defines them, by exact link position. */
  readonly chains: ChainStatistics;
  /** As a look-up walks them: neighbouring link positions share a chain. */
  readonly walkedChains: ChainStatistics;
}

/** What the statistics need of a filter. */
export interface FilterView extends ChainView {
  readonly plan: FilterPlan;
  readonly liveCount: number;
  readonly memoryBytes: number;
  mayBeLive(ids: Uint8Array, offset: number): boolean;
}

/** Enough to measure a rate of 0.01 to within 2 % (one standard deviation), and less than 0.1 s. */
const PROBE_COUNT = 2 ** 18;
const PROBE_SEED = 20;

export function collectStatistics(filter: FilterView, counters: CounterArray): FilterStatistics {
  const { positions, hashes, capacity } = filter.plan;
  const counts = counters.histogram();
  const { byLink, walked } = measureChains(filter);
  return {
    elements: filter.liveCount,
    positions,
    hashes,
    counterBits: COUNTER_BITS,
    fillRatio: 1 - counts[0]! / positions,
    fprPredicted: predictedRate(positions, filter.liveCount, hashes),
    fprMeasured: measureFalsePositives(filter, PROBE_COUNT, PROBE_SEED),
    fprProbes: { count: PROBE_COUNT, seed: PROBE_SEED },
    counterHistogram: counts,
    counterMax: counts.findLastIndex((count) => count > 0),
    saturated: counts[COUNTER_MAX]!,
    memoryBytes: filter.memoryBytes,
    capacity,
    chains: byLink,
    walkedChains: walked,
  };
}

/** The part of random ids, all of them absent, for which the counters cannot say that they are absent. */
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
