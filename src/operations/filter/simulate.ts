import { linkPosition } from '../../filter/formulas.ts';
import { randomWords } from '../../filter/random-ids.ts';
import { Pacer } from '../context.ts';
import { expectedLongestChains } from './chain-theory.ts';

/** A store to fill: the published set-up for one capacity. */
interface ChainGroup {
  /** n: chunks at full load. */
  readonly elements: number;
  /** m: link positions of the LDM filter, by formula (2). */
  readonly positions: number;
  /** The published means of the longest chain at full load. */
  readonly published: { readonly ldm: number; readonly dibf: number };
}

/** 40 GB and 100 GB in chunks of 64 MB with k = 7. */
const PUBLISHED_GROUPS: readonly ChainGroup[] = [
  { elements: 640, positions: 6463, published: { ldm: 2.6, dibf: 5.2 } },
  { elements: 1600, positions: 16_158, published: { ldm: 3.0, dibf: 5.8 } },
];
const PUBLISHED_HASHES = 7;

export interface SimulationOptions {
  readonly runs: number;
  readonly seed: number;
  /** How often a run is looked at while the store fills, the full store included. */
  readonly samples: number;
  readonly signal?: AbortSignal | undefined;
}

/** The longest chain, over all runs. */
export interface LongestChain {
  readonly mean: number;
  /** Of the mean; 0 for one run. */
  readonly standardError: number;
  readonly min: number;
  readonly max: number;
  /** What theory predicts for the mean. */
  readonly expected: number;
}

export interface ChainSample {
  /** Chunks in the store. */
  readonly elements: number;
  readonly ldm: LongestChain;
  readonly dibf: LongestChain;
}

export interface GroupResult extends ChainGroup {
  /** The index array of the DIBF is `side` by `side`, the smallest square with a cell for every chunk. */
  readonly side: number;
  readonly samples: readonly ChainSample[];
}

export interface SimulationResult {
  readonly runs: number;
  readonly seed: number;
  /** k */
  readonly hashes: number;
  readonly groups: readonly GroupResult[];
}

/** Longest chains: one row per sample, one column per run. */
interface Measured {
  readonly ldm: readonly Float64Array[];
  readonly dibf: readonly Float64Array[];
}

/**
 * The published experiment: chunks with k uniform hash values fill a store; how long is the longest chain of the LDM
 * filter, and how long that of a dynamic index Bloom filter with the same chunks? All numbers come from one generator.
 */
export async function simulateChains(options: SimulationOptions): Promise<SimulationResult> {
  const { runs, seed } = options;
  const nextWord = randomWords(seed);
  const pacer = new Pacer(options.signal);
  const groups: GroupResult[] = [];
  for (const group of PUBLISHED_GROUPS) {
    const side = Math.ceil(Math.sqrt(group.elements));
    const checkpoints = sampleSizes(group.elements, options.samples);
    const measured: Measured = { ldm: rowsFor(checkpoints, runs), dibf: rowsFor(checkpoints, runs) };
    const rowOf = new Map(checkpoints.map((elements, row) => [elements, row]));
    for (let run = 0; run < runs; run++) {
      fillStore(group, side, nextWord, (elements, ldm, dibf) => {
        const row = rowOf.get(elements);
        if (row === undefined) return;
        measured.ldm[row]![run] = ldm;
        measured.dibf[row]![run] = dibf;
      });
      await pacer.pause();
    }
    groups.push({ ...group, side, samples: summarize(group, side, checkpoints, measured) });
  }
  return { runs, seed, hashes: PUBLISHED_HASHES, groups };
}

/** Equal steps up to the full store; fewer than asked for where the store has fewer chunks. */
function sampleSizes(elements: number, samples: number): number[] {
  const sizes = Array.from({ length: samples }, (_, index) => Math.round(((index + 1) * elements) / samples));
  return [...new Set(sizes)].filter((size) => size > 0);
}

function rowsFor(checkpoints: readonly number[], runs: number): Float64Array[] {
  return checkpoints.map(() => new Float64Array(runs));
}

/**
 * One run. A chunk has k uniform hash values. In the LDM filter it goes on the chain at its link position, formula (3);
 * in the DIBF into the cell whose row and column are given by the first two values.
 */
function fillStore(
  { elements, positions }: ChainGroup,
  side: number,
  nextWord: () => number,
  visit: (elements: number, longestLdm: number, longestDibf: number) => void,
): void {
  const chains = new Uint32Array(positions);
  const cells = new Uint32Array(side * side);
  const shares = new Float64Array(PUBLISHED_HASHES);
  let longestLdm = 0;
  let longestDibf = 0;
  for (let stored = 1; stored <= elements; stored++) {
    for (let hash = 0; hash < PUBLISHED_HASHES; hash++) shares[hash] = nextWord() / 2 ** 32;
    const values = Array.from(shares, (share) => Math.floor(share * positions));
    const link = linkPosition(values, positions);
    const cell = Math.floor(shares[0]! * side) * side + Math.floor(shares[1]! * side);
    longestLdm = Math.max(longestLdm, ++chains[link]!);
    longestDibf = Math.max(longestDibf, ++cells[cell]!);
    visit(stored, longestLdm, longestDibf);
  }
}

function summarize(
  { elements, positions }: ChainGroup,
  side: number,
  checkpoints: readonly number[],
  measured: Measured,
): ChainSample[] {
  const ldmExpected = expectedLongestChains(positions, elements);
  const dibfExpected = expectedLongestChains(side * side, elements);
  return checkpoints.map((size, row) => ({
    elements: size,
    ldm: describeRuns(measured.ldm[row]!, ldmExpected[size]!),
    dibf: describeRuns(measured.dibf[row]!, dibfExpected[size]!),
  }));
}

function describeRuns(lengths: Float64Array, expected: number): LongestChain {
  const runs = lengths.length;
  const mean = lengths.reduce((sum, length) => sum + length, 0) / runs;
  const squares = lengths.reduce((sum, length) => sum + (length - mean) ** 2, 0);
  const standardError = runs < 2 ? 0 : Math.sqrt(squares / (runs - 1) / runs);
  const [min, max] = lengths.reduce(
    ([low, high], length) => [Math.min(low, length), Math.max(high, length)],
    [Infinity, 0],
  );
  return { mean, standardError, min, max, expected };
}
