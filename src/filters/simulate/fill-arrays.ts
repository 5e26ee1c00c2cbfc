import { linkPosition } from '../../core/ldm/formulas.ts';
import type { FilterPlan } from '../../core/ldm/formulas.ts';

/** A store to fill. */
export interface ChainGroup {
  /** n: number of chunks when full. */
  readonly elements: number;
  /** m: link positions of the LDM filter by formula (2), as in the paper. */
  readonly positions: number;
  /** The index array of the DIBF is `side` by `side`, the smallest square with a cell for every chunk. */
  readonly side: number;
  /** The plan of this program, in which m is prime. */
  readonly plan: FilterPlan;
}

/**
 * The kinds of chains whose longest is measured. `ldm` and `dibf` are arrays filled as the paper describes; `ldmFilter`
 * and `dibfFilter` are the classes of this program, by link position and by cell; `ldmFilterSaved` are the chains that
 * a lookup in the LDM filter walks, whose heads neighbouring link positions share.
 */
export const CHAIN_KINDS = ['ldm', 'dibf', 'ldmFilter', 'ldmFilterSaved', 'dibfFilter'] as const;
export type ChainKind = (typeof CHAIN_KINDS)[number];

/** The longest chain of each kind in one store. */
export type LongestChains = Readonly<Record<ChainKind, number>>;

/**
 * Fills one store as the paper describes it and returns the longest chains at each size. A chunk has k uniform hash
 * values. In the LDM filter it joins the chain at its link position, formula (3); in the DIBF it joins the cell whose
 * row and column are given by the first two values.
 */
export function fillArrays(
  { elements, positions, side, plan: { hashes } }: ChainGroup,
  sizes: readonly number[],
  nextWord: () => number,
): Pick<LongestChains, 'ldm' | 'dibf'>[] {
  const chains = new Uint32Array(positions);
  const cells = new Uint32Array(side * side);
  const shares = new Float64Array(hashes);
  const results: Pick<LongestChains, 'ldm' | 'dibf'>[] = [];
  let ldm = 0;
  let dibf = 0;
  for (let stored = 1; stored <= elements; stored++) {
    for (let hash = 0; hash < hashes; hash++) shares[hash] = nextWord() / 2 ** 32;
    const values = Array.from(shares, (share) => Math.floor(share * positions));
    const cell = Math.floor(shares[0]! * side) * side + Math.floor(shares[1]! * side);
    ldm = Math.max(ldm, ++chains[linkPosition(values, positions)]!);
    dibf = Math.max(dibf, ++cells[cell]!);
    if (stored === sizes[results.length]) results.push({ ldm, dibf });
  }
  return results;
}
