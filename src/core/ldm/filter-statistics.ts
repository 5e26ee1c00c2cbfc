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
  /** Fraction of the counters that are not 0. */
  readonly fillRatio: number;
  /** For the current n, from formula (1) plus the repeats caused by double hashing. */
  readonly fprPredicted: number;
  /** Measured by probing with absent ids. */
  readonly fprMeasured: number;
  /** Number of ids probed, and the seed that generated them. */
  readonly fprProbes: { readonly count: number; readonly seed: number };
  /** `counterHistogram[c]` is the number of counters with value c. */
  readonly counterHistogram: readonly number[];
  readonly counterMax: number;
  /** Number of saturated counters. */
  readonly saturated: number;
  readonly memoryBytes: number;
  /** n_max: number of live chunks that fit before the filter grows. */
  readonly capacity: number;
  /** Chains as the LDM paper defines them, by exact link position. */
  readonly chains: ChainStatistics;
  /** Chains as a checkpoint has them; neighbouring link positions share one. */
  readonly savedChains: ChainStatistics;
  /** Chains that a look-up walks; two neighbouring saved chains are one. */
  readonly walkedChains: ChainStatistics;
}

/** The part of a filter that the statistics use. */
interface FilterView extends ChainView {
  readonly plan: FilterPlan;
  readonly liveCount: number;
  readonly memoryBytes: number;
  mayBeLive(ids: Uint8Array, offset: number): boolean;
}

/** Measures a rate of 0.01 to within 2 % (one standard deviation) in less than 0.1 s. */
const PROBE_COUNT = 2 ** 18;
const PROBE_SEED = 20;

export function collectStatistics(filter: FilterView, counters: CounterArray): FilterStatistics {
  const { positions, hashes, capacity } = filter.plan;
  const counts = counters.histogram();
  const { byLink, saved, walked } = measureChains(filter);
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
    savedChains: saved,
    walkedChains: walked,
  };
}

/** Returns the fraction of random, absent ids that the counters do not rule out. */
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
