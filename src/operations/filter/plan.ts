import { UsageError } from '../../errors.ts';
import { COUNTER_BITS } from '../../filter/counters.ts';
import { ENTRY_WORDS } from '../../filter/entry-table.ts';
import {
  DEFAULT_FPR,
  falsePositiveRate,
  MAX_HASHES,
  MAX_POSITIONS,
  planFilter,
  positionsFor,
} from '../../filter/formulas.ts';
import type { FilterPlan } from '../../filter/formulas.ts';

export interface PlanRequest {
  /** n_max: how many distinct chunks the store can hold. */
  readonly capacity: number;
  /** The k to begin with; without a rate also the one that is taken. */
  readonly hashes?: number | undefined;
  /** The false positive rate to accept. */
  readonly fpr?: number | undefined;
}

/** One number of hashes and what it leads to. */
export interface PlanChoice {
  /** k */
  readonly hashes: number;
  /** m by formula (2), rounded, as published. */
  readonly positions: number;
  /** Formula (1) at this m. */
  readonly fpr: number;
  /** What ldm would make of it: m is a prime, and the rate of a full filter is never above the target. */
  readonly plan: FilterPlan;
  /** Of the counters, at n_max. */
  readonly bitsPerElement: number;
  readonly counterBytes: number;
  /** Heads and entries of n_max chunks; the entries come in pages, so a small filter takes a little more. */
  readonly chainBytes: number;
  /** `rejected` was tried and its rate is too high; `alternative` was not tried. */
  readonly verdict: 'rejected' | 'accepted' | 'alternative';
}

export interface PlanWalk {
  readonly capacity: number;
  /** The rate that was asked for; undefined if k was. */
  readonly fprTarget: number | undefined;
  readonly accepted: PlanChoice;
  /** By rising k: what was tried, and the neighbours of what was accepted. */
  readonly choices: readonly PlanChoice[];
}

const NEIGHBOURS = 3;
const ENTRY_BYTES = ENTRY_WORDS * 4;
const HEAD_BYTES = 4;

/**
 * The set-up flow of the LDM paper: choose k, take n_max, m by formula (2), the false positive rate by formula (1), and
 * accept it or go on with the next larger k. Without a rate the first k is accepted.
 * @throws UsageError for values out of range.
 */
export function walkPlan({ capacity, hashes, fpr }: PlanRequest): PlanWalk {
  // A first k that is impossible, or that needs too many positions, is told before the walk.
  if (hashes !== undefined) planFilter({ capacity, hashes });
  const first = hashes ?? 1;
  const fprTarget = hashes === undefined ? (fpr ?? DEFAULT_FPR) : fpr;
  const last = fprTarget === undefined ? first : Math.max(first, planFilter({ capacity, fpr: fprTarget }).hashes);
  const choices: PlanChoice[] = [];
  const from = Math.max(1, Math.min(first, last - NEIGHBOURS));
  for (let k = from; k <= Math.min(MAX_HASHES, last + NEIGHBOURS); k++) {
    if (k > last && positionsFor(capacity, k) > MAX_POSITIONS * 0.99) break;
    const verdict = k === last ? 'accepted' : k >= first && k < last ? 'rejected' : 'alternative';
    choices.push(choose({ capacity, hashes: k, fpr: k < last ? undefined : fprTarget }, verdict));
  }
  return { capacity, fprTarget, accepted: choices.find(({ verdict }) => verdict === 'accepted')!, choices };
}

function choose(request: PlanRequest & { readonly hashes: number }, verdict: PlanChoice['verdict']): PlanChoice {
  const { capacity, hashes } = request;
  const plan = planFilter(request);
  const positions = positionsFor(capacity, hashes);
  return {
    hashes,
    positions,
    fpr: falsePositiveRate(positions, capacity, hashes),
    plan,
    bitsPerElement: (plan.positions * COUNTER_BITS) / capacity,
    counterBytes: Math.ceil((plan.positions * COUNTER_BITS) / 8),
    chainBytes: capacity * (HEAD_BYTES + ENTRY_BYTES),
    verdict,
  };
}

/** n_max: how many chunks of this size a store of this size holds; one that is begun counts. */
export function capacityFor(storeBytes: number, chunkBytes: number): number {
  if (chunkBytes > storeBytes) {
    throw new UsageError('the chunk size is larger than the capacity', {
      hint: 'Give a chunk size such as 64MB and a capacity such as 40GB.',
    });
  }
  return Math.ceil(storeBytes / chunkBytes);
}
