import { RefusedError, UsageError } from '../errors.ts';
import { repeatRate } from './double-hashing.ts';
import { nextPrime } from './positions.ts';

/** Formulas (1) to (3) of the LDM paper, and the plan derived from n (elements), m (positions) and k (hashes). */

/**
 * Formula (1): the probability that all positions of an absent chunk are taken, `(1 - (1 - 1/m)^(k n))^k`, assuming
 * independent positions. `log1p` and `expm1` keep the digits that `1 - 1/m` would lose for a large m.
 */
export function falsePositiveRate(positions: number, elements: number, hashes: number): number {
  if (elements === 0) return 0;
  const fillRatio = -Math.expm1(hashes * elements * Math.log1p(-1 / positions));
  return fillRatio ** hashes;
}

/** The false positive rate of a filter with double hashing: formula (1) plus the probability of repeated positions. */
export function predictedRate(positions: number, elements: number, hashes: number): number {
  const independent = falsePositiveRate(positions, elements, hashes);
  return independent + (1 - independent) * repeatRate(positions, elements, hashes);
}

/** Formula (2) solved for m: the number of positions for which `hashes` is optimal, `m = k n / ln 2`, rounded. */
export function positionsFor(elements: number, hashes: number): number {
  return Math.round((hashes * elements) / Math.LN2);
}

/** Formula (2): the number of hashes with the lowest false positive rate, `k = (m / n) ln 2`, rounded and at least 1. */
export function optimalHashes(positions: number, elements: number): number {
  return Math.max(1, Math.round((positions / elements) * Math.LN2));
}

/** Formula (1) solved for m: the fewest positions with a false positive rate of at most `rate`. */
export function positionsForRate(elements: number, hashes: number, rate: number): number {
  const fillRatio = rate ** (1 / hashes);
  return Math.ceil(-1 / Math.expm1(Math.log1p(-fillRatio) / (hashes * elements)));
}

/** The fewest positions with a predicted rate of at most `rate`, or more than MAX_POSITIONS if no number suffices. */
function positionsForPrediction(elements: number, hashes: number, rate: number): number {
  let tooFew = 1;
  let enough = MAX_POSITIONS + 1;
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (predictedRate(middle, elements, hashes) <= rate) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/** Formula (3): the link position of a chunk, the sum of its hash values modulo m. */
export function linkPosition(values: readonly number[], positions: number): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum % positions;
}

/** The size of a filter and its guaranteed false positive rate. */
export interface FilterPlan {
  /** n_max: number of live chunks that the filter holds before it grows. */
  readonly capacity: number;
  /** k */
  readonly hashes: number;
  /** m: a prime at least as large as the value of formula (2). */
  readonly positions: number;
  /** The upper bound of the false positive rate. */
  readonly fprTarget: number;
  /** The predicted rate at capacity. */
  readonly fprPredicted: number;
}

export interface PlanOptions {
  readonly capacity?: number | undefined;
  readonly hashes?: number | undefined;
  readonly fpr?: number | undefined;
}

const DEFAULT_CAPACITY = 65_536;
export const DEFAULT_FPR = 0.01;
export const MAX_HASHES = 32;
/** 128 Mi chunks: 128 TiB of unique data at the default average of 1 MiB, and 8 GiB of memory. */
export const MAX_CAPACITY: number = 2 ** 27;
/** Positions use signed 32-bit operators. This is enough for MAX_CAPACITY with 11 hashes. */
export const MAX_POSITIONS: number = 2 ** 31 - 1;
/** A rate that a user rounds (0.0078 for 2^-7) must not require another hash; a larger m compensates. */
const RATE_TOLERANCE = 1.01;
/** Growth keeps a few positions in reserve, because the target may need more than formula (2) gives. */
const GROWTH_POSITIONS_MAX = MAX_POSITIONS * 0.97;

/**
 * Plans a filter with the set-up procedure of the LDM paper: choose k, take n_max, compute m with formula (2) and the
 * false positive rate with formula (1), then accept the result or continue with the next larger k. m is the next prime:
 * with `h_i = a + i b` the link positions are uniform only if m shares no factor with k. A requested rate applies to
 * the predicted rate, which is higher than formula (1) in small filters; m is larger there. Without a requested rate,
 * the result of formula (2) is the target.
 * @throws UsageError if a value is out of range, or if the hashes and the rate contradict each other
 */
export function planFilter(options: PlanOptions = {}): FilterPlan {
  const capacity = options.capacity ?? DEFAULT_CAPACITY;
  checkWhole('capacity', capacity, MAX_CAPACITY);
  if (options.hashes !== undefined) checkWhole('number of hashes', options.hashes, MAX_HASHES);
  if (options.hashes !== undefined && options.fpr === undefined) {
    return makePlan(capacity, options.hashes, undefined);
  }
  const fprTarget = options.fpr ?? DEFAULT_FPR;
  const needed = hashesFor(fprTarget);
  if (options.hashes !== undefined && options.hashes < needed) {
    throw new UsageError(
      `${options.hashes} hashes give a false positive rate of ${(2 ** -options.hashes).toPrecision(2)}, not ${fprTarget}`,
      { hint: `Use ${needed} hashes, or give only one of the two values.` },
    );
  }
  return makePlan(capacity, options.hashes ?? needed, fprTarget);
}

/** Plans a larger capacity with the same hashes and target rate, and more positions. */
export function growPlan(plan: FilterPlan, capacity: number): FilterPlan {
  const highest = Math.min(MAX_CAPACITY, Math.floor((GROWTH_POSITIONS_MAX * Math.LN2) / plan.hashes));
  if (plan.capacity >= highest) {
    throw new RefusedError(`the LDM filter cannot hold more than ${plan.capacity} chunks`, {
      hint: 'Create a repository with a larger chunk size or a higher false positive rate.',
    });
  }
  return makePlan(Math.min(capacity, highest), plan.hashes, plan.fprTarget);
}

function hashesFor(fpr: number): number {
  const lowest = 2 ** -MAX_HASHES;
  if (!(fpr >= lowest && fpr < 1)) {
    throw new UsageError(`a false positive rate of ${fpr} is out of range`, {
      hint: `Give a rate from ${lowest.toExponential(1)} to less than 1, such as ${DEFAULT_FPR}.`,
    });
  }
  let hashes = 1;
  while (2 ** -hashes > fpr * RATE_TOLERANCE) hashes++;
  return hashes;
}

function makePlan(capacity: number, hashes: number, rate: number | undefined): FilterPlan {
  const needed = rate === undefined ? 0 : positionsForPrediction(capacity, hashes, rate);
  const positions = nextPrime(Math.max(positionsFor(capacity, hashes), needed));
  if (positions > MAX_POSITIONS) {
    throw new UsageError(
      `${capacity} chunks with ${hashes} hashes need ${positions} positions, more than the maximum of ${MAX_POSITIONS}`,
      {
        hint: `Choose fewer hashes or a higher rate, or a lower capacity: the filter grows automatically.`,
      },
    );
  }
  const fprPredicted = predictedRate(positions, capacity, hashes);
  return { capacity, hashes, positions, fprTarget: rate ?? Math.max(2 ** -hashes, fprPredicted), fprPredicted };
}

function checkWhole(what: string, value: number, highest: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= highest) return;
  throw new UsageError(`a ${what} of ${value} is out of range`, { hint: `Give a whole number from 1 to ${highest}.` });
}
