import type { FilterPlan } from '../../../filter/formulas.ts';

/** A store to fill. */
export interface ChainGroup {
  /** n: chunks at full load. */
  readonly elements: number;
  /** m: link positions of the LDM filter by formula (2), as published. */
  readonly positions: number;
  /** The index array of the DIBF is `side` by `side`, the smallest square with a cell for every chunk. */
  readonly side: number;
  /** What this program makes of it: here m is a prime. */
  readonly plan: FilterPlan;
}

/**
 * The chains of which the longest is measured. `ldm` and `dibf` are arrays that are filled as the paper describes it;
 * `ldmFilter` and `dibfFilter` are the classes of this program, by link position and by cell; `ldmFilterWalked` are the
 * chains that a look-up in the LDM filter walks, on heads that neighbouring link positions share.
 */
export const CHAIN_KINDS = ['ldm', 'dibf', 'ldmFilter', 'ldmFilterWalked', 'dibfFilter'] as const;
export type ChainKind = (typeof CHAIN_KINDS)[number];

/** The longest chain of each kind in one store. */
export type LongestChains = Readonly<Record<ChainKind, number>>;
