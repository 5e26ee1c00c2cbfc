import { UsageError } from '../../core/errors.ts';
import { COUNTER_BITS } from '../../core/ldm/counters.ts';
import { ENTRY_WORDS } from '../../core/ldm/entry-table.ts';
import {
  DEFAULT_FPR,
  falsePositiveRate,
  MAX_HASHES,
  MAX_POSITIONS,
  planFilter,
  positionsFor,
} from '../../core/ldm/formulas.ts';
import type { FilterPlan } from '../../core/ldm/formulas.ts';

export interface PlanRequest {
  /** n_max: maximum number of distinct chunks in the store. */
  readonly capacity: number;
  /** The first k to try; without a rate, it is accepted as is. */
  readonly hashes?: number | undefined;
  /** The highest acceptable false positive rate. */
  readonly fpr?: number | undefined;
}

/** A number of hashes and the resulting filter. */
export interface PlanChoice {
  /** k */
  readonly hashes: number;
  /** m by formula (2), rounded, as in the paper. */
  readonly positions: number;
  /** Formula (1) at this m. */
  readonly fpr: number;
  /** The plan that ldm would use: m is prime, and the rate of a full filter never exceeds the target. */
  readonly plan: FilterPlan;
  /** Bits of the counters per element at n_max. */
  readonly bitsPerElement: number;
  readonly counterBytes: number;
  /** Heads and entries of n_max chunks; entries are allocated in pages, so a small filter uses slightly more. */
  readonly chainBytes: number;
  /** `rejected` was tried and its rate is too high; `alternative` was not tried. */
  readonly verdict: 'rejected' | 'accepted' | 'alternative';
}

export interface PlanWalk {
  readonly capacity: number;
  /** The requested rate; undefined if k was requested. */
  readonly fprTarget: number | undefined;
  readonly accepted: PlanChoice;
  /** Sorted by k: the choices tried, and the neighbours of the accepted one. */
  readonly choices: readonly PlanChoice[];
}

const NEIGHBOURS = 3;
const ENTRY_BYTES = ENTRY_WORDS * 4;
/** In memory, two chunks of the capacity share a head of 4 bytes. */
const HEAD_BYTES = 2;

/**
 * The set-up procedure of the LDM paper: choose k, take n_max, compute m with formula (2) and the false positive rate
 * with formula (1), then accept the result or continue with the next larger k. Without a rate the first k is accepted.
 * @throws UsageError if a value is out of range
 */
export function walkPlan({ capacity, hashes, fpr }: PlanRequest): PlanWalk {
  // Report a first k that is invalid or needs too many positions before the walk.
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

/** n_max: number of chunks of this size in a store of this size, rounded up. */
export function capacityFor(storeBytes: number, chunkBytes: number): number {
  if (chunkBytes > storeBytes) {
    throw new UsageError('the chunk size is larger than the capacity', {
      hint: 'Give a chunk size such as 64MB and a capacity such as 40GB.',
    });
  }
  return Math.ceil(storeBytes / chunkBytes);
}
