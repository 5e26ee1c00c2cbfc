import type { FilterPlan } from '../../../ldm/formulas.ts';

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
 * and `dibfFilter` are the classes of this program, by link position and by cell; `ldmFilterWalked` are the chains that
 * a lookup in the LDM filter walks, whose heads neighbouring link positions share.
 */
export const CHAIN_KINDS = ['ldm', 'dibf', 'ldmFilter', 'ldmFilterWalked', 'dibfFilter'] as const;
export type ChainKind = (typeof CHAIN_KINDS)[number];

/** The longest chain of each kind in one store. */
export type LongestChains = Readonly<Record<ChainKind, number>>;
