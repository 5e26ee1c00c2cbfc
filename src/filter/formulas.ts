import { RefusedError, UsageError } from '../errors.ts';
import { repeatRate } from './double-hashing.ts';
import { nextPrime } from './prime.ts';

/** Formulas (1) to (3) of the LDM paper, and the plan that follows from n (elements), m (positions) and k (hashes). */

/**
 * Formula (1): how often an absent chunk finds all its positions taken, `(1 - (1 - 1/m)^(k n))^k`, if the positions are
 * independent. `log1p` and `expm1` keep the digits that `1 - 1/m` would lose for a large m.
 */
export function falsePositiveRate(positions: number, elements: number, hashes: number): number {
  if (elements === 0) return 0;
  const fillRatio = -Math.expm1(hashes * elements * Math.log1p(-1 / positions));
  return fillRatio ** hashes;
}

/** The false positive rate of a filter with double hashing: formula (1), or the positions of one chunk repeated. */
export function predictedRate(positions: number, elements: number, hashes: number): number {
  const independent = falsePositiveRate(positions, elements, hashes);
  return independent + (1 - independent) * repeatRate(positions, elements, hashes);
}

/** Formula (2) solved for m: the positions at which `hashes` is the best number of hashes, `m = k n / ln 2`, rounded. */
export function positionsFor(elements: number, hashes: number): number {
  return Math.round((hashes * elements) / Math.LN2);
}

/** Formula (2): the number of hashes with the lowest false positive rate, `k = (m / n) ln 2`, rounded and at least 1. */
export function optimalHashes(positions: number, elements: number): number {
  return Math.max(1, Math.round((positions / elements) * Math.LN2));
}

/** Formula (1) solved for m: the fewest positions at which the false positive rate is `rate` or less. */
export function positionsForRate(elements: number, hashes: number, rate: number): number {
  const fillRatio = rate ** (1 / hashes);
  return Math.ceil(-1 / Math.expm1(Math.log1p(-fillRatio) / (hashes * elements)));
}

/** The fewest positions at which the predicted rate is `rate` or less; more than MAX_POSITIONS if there are none. */
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

/** Formula (3): the position at which a chunk's chain hangs, the sum of its hash values modulo m. */
export function linkPosition(values: readonly number[], positions: number): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum % positions;
}

/** How large a filter is and what it promises. */
export interface FilterPlan {
  /** n_max: how many live chunks the filter holds before it grows. */
  readonly capacity: number;
  /** k */
  readonly hashes: number;
  /** m: a prime at or above the value of formula (2). */
  readonly positions: number;
  /** The false positive rate that is never exceeded. */
  readonly fprTarget: number;
  /** The predicted rate at full capacity. */
  readonly fprPredicted: number;
}

export interface PlanOptions {
  readonly capacity?: number | undefined;
  readonly hashes?: number | undefined;
  readonly fpr?: number | undefined;
}

export const DEFAULT_CAPACITY = 65_536;
export const DEFAULT_FPR = 0.01;
export const MAX_HASHES = 32;
/** 128 Mi chunks: 128 TiB of unique data at the default average of 1 MiB, and 8 GiB of memory. */
export const MAX_CAPACITY: number = 2 ** 27;
/** Positions are handled with signed 32-bit operators. Enough for MAX_CAPACITY with 11 hashes. */
export const MAX_POSITIONS: number = 2 ** 31 - 1;
/** A rate that people round when they type it (0.0078 for 2^-7) must not cost them another hash: m makes up for it. */
const RATE_TOLERANCE = 1.01;
/** Growth leaves a few positions free: the target may need more of them than formula (2) gives. */
const GROWTH_POSITIONS_MAX = MAX_POSITIONS * 0.97;

/**
 * The set-up flow of the LDM paper: choose k, take n_max, m by formula (2), the false positive rate by formula (1), and
 * accept it or go on with the next larger k. m is the next prime: with `h_i = a + i b` the link positions are uniform
 * only when m shares no factor with k. A rate that is asked for holds for the predicted rate, which is above formula (1)
 * in small filters; there m is larger. Without one, the target is what formula (2) leads to.
 * @throws UsageError for values out of range, or hashes and a rate that do not agree.
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
      { hint: `Use ${needed} hashes, or give only one of the two.` },
    );
  }
  return makePlan(capacity, options.hashes ?? needed, fprTarget);
}

/** The plan for more chunks under the same promise: the same hashes and target, more positions. */
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
    throw new UsageError(`a false positive rate of ${fpr} is not possible`, {
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
      `${capacity} chunks with ${hashes} hashes need ${positions} positions, more than is possible`,
      {
        hint: `Choose fewer hashes or a higher rate, or a lower capacity: the filter grows by itself.`,
      },
    );
  }
  const fprPredicted = predictedRate(positions, capacity, hashes);
  return { capacity, hashes, positions, fprTarget: rate ?? Math.max(2 ** -hashes, fprPredicted), fprPredicted };
}

function checkWhole(what: string, value: number, highest: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= highest) return;
  throw new UsageError(`a ${what} of ${value} is not possible`, { hint: `Give a whole number from 1 to ${highest}.` });
}
