import { planFilter } from '../../core/ldm/formulas.ts';
import { randomWords } from '../../core/ldm/random-ids.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { expectedLongestChains } from '../theory/chain-theory.ts';
import { fillArrays, CHAIN_KINDS } from './fill-arrays.ts';
import { fillFilters } from './fill-filters.ts';
import type { ChainGroup, ChainKind } from './fill-arrays.ts';
import { RunSummary } from './run-summary.ts';
import type { LongestChain } from './run-summary.ts';

export type { ChainKind } from './fill-arrays.ts';
export type { LongestChain } from './run-summary.ts';

/**
 * The set-up of the paper: 40 GB and 100 GB in chunks of 64 MB with k = 7. The paper shows the longest chains in
 * figures, in which LDM is below DIBF and both groups are "nearly the same"; it gives no numbers to compare with.
 */
const PUBLISHED_GROUPS: readonly Pick<ChainGroup, 'elements' | 'positions'>[] = [
  { elements: 640, positions: 6463 },
  { elements: 1600, positions: 16_158 },
];
const PUBLISHED_HASHES = 7;

export interface SimulationOptions {
  readonly runs: number;
  readonly seed: number;
  /** Number of samples while the store fills, including the full store. */
  readonly samples: number;
  readonly signal?: AbortSignal | undefined;
}

interface ChainSample extends Readonly<Record<ChainKind, LongestChain>> {
  /** Number of chunks in the store. */
  readonly elements: number;
}

export interface GroupResult extends ChainGroup {
  readonly samples: readonly ChainSample[];
}

export interface SimulationResult {
  readonly runs: number;
  readonly seed: number;
  /** k */
  readonly hashes: number;
  readonly groups: readonly GroupResult[];
}

/** Keeps the ids of the filters independent of the hash values of the arrays. */
const ID_SEED_OFFSET = 0x5eed;

/**
 * Reproduces the experiment of the LDM paper: how long are the longest chains of the LDM filter and of a dynamic index
 * Bloom filter with the same chunks while a store fills? Each run does this twice: with arrays and k independent hash
 * values, as the paper describes it, and with the classes of this program, which derive positions from an id by double
 * hashing. The seed determines all results.
 */
export async function simulateChains(options: SimulationOptions): Promise<SimulationResult> {
  const { runs, seed } = options;
  const nextWord = randomWords(seed);
  const nextIdWord = randomWords(seed + ID_SEED_OFFSET);
  const pacer = new Pacer(options);
  const groups: GroupResult[] = [];
  for (const published of PUBLISHED_GROUPS) {
    const group = describeGroup(published);
    const sizes = sampleSizes(group.elements, options.samples);
    const summaries = sizes.map(newSummaries);
    for (let run = 0; run < runs; run++) {
      const arrays = fillArrays(group, sizes, nextWord);
      const filters = fillFilters(group, sizes, nextIdWord);
      for (const [row, summary] of summaries.entries()) {
        const longest = { ...arrays[row]!, ...filters[row]! };
        for (const kind of CHAIN_KINDS) summary[kind].add(longest[kind]);
      }
      await pacer.pause();
    }
    groups.push({ ...group, samples: describeSamples(group, sizes, summaries) });
  }
  return { runs, seed, hashes: PUBLISHED_HASHES, groups };
}

function describeGroup({ elements, positions }: (typeof PUBLISHED_GROUPS)[number]): ChainGroup {
  const plan = planFilter({ capacity: elements, hashes: PUBLISHED_HASHES });
  return { elements, positions, side: Math.ceil(Math.sqrt(elements)), plan };
}

/** Equal steps up to the full store; fewer than requested if the store has fewer chunks. */
function sampleSizes(elements: number, samples: number): number[] {
  const sizes = Array.from({ length: samples }, (_, index) => Math.round(((index + 1) * elements) / samples));
  return [...new Set(sizes)].filter((size) => size > 0);
}

type Summaries = Readonly<Record<ChainKind, RunSummary>>;

function newSummaries(): Summaries {
  return byKind(() => new RunSummary());
}

function describeSamples(group: ChainGroup, sizes: readonly number[], summaries: readonly Summaries[]): ChainSample[] {
  const { elements, positions, side, plan } = group;
  const places: Readonly<Record<ChainKind, number>> = {
    ldm: positions,
    dibf: side * side,
    ldmFilter: plan.positions,
    // One chain head per chunk of the capacity.
    ldmFilterSaved: plan.capacity,
    dibfFilter: side * side,
  };
  const expected = byKind((kind) => expectedLongestChains(places[kind], elements));
  return sizes.map((size, row) => ({
    elements: size,
    ...byKind((kind) => summaries[row]![kind].describe(expected[kind][size]!)),
  }));
}

function byKind<T>(make: (kind: ChainKind) => T): Record<ChainKind, T> {
  return Object.fromEntries(CHAIN_KINDS.map((kind) => [kind, make(kind)])) as Record<ChainKind, T>;
}
