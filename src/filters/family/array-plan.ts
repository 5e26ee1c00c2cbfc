import { UsageError } from '../../core/errors.ts';
import { MAX_HASHES, planFilter } from '../../core/ldm/formulas.ts';
import { SLOTS_MAX } from '../../core/ldm/plane-cells.ts';
import type { Shape } from './bloom-slice.ts';
import { checkCapacity, checkRate, checkReachable, type CapacityOptions } from './sizing.ts';

export interface ArrayOptions extends CapacityOptions {
  /** c: ids per filter, which are one subset; default: an eighth of the capacity. */
  readonly filterCapacity?: number;
  /** G: filters whose bits are stored next to each other, 1 to 32; default: 8. */
  readonly groupFilters?: number;
}

/** The parameters from which the shape of every group of an array follows. */
export interface ArrayPlan {
  /** c */
  readonly filterCapacity: number;
  /** G */
  readonly groupFilters: number;
  /** The highest rate of all groups together. */
  readonly falsePositiveRate: number;
}

const DEFAULT_FILTERS = 8;
/** The lowest rate of one filter. */
const RATE_MIN = 2 ** -MAX_HASHES;

/** @throws UsageError if a value is out of range */
export function planArray(options: ArrayOptions): ArrayPlan {
  const { capacity, falsePositiveRate, groupFilters = DEFAULT_FILTERS } = options;
  const filterCapacity = options.filterCapacity ?? Math.ceil(capacity / DEFAULT_FILTERS);
  checkCapacity(capacity);
  checkCapacity(filterCapacity);
  checkRate(falsePositiveRate);
  if (!(Number.isInteger(groupFilters) && groupFilters >= 1 && groupFilters <= SLOTS_MAX)) {
    throw new UsageError(`groups of ${groupFilters} Bloom filters are not possible`, {
      hint: `Give a whole number from 1 to ${SLOTS_MAX}.`,
    });
  }
  checkReachable(falsePositiveRate, lowestRate(groupFilters));
  const plan = { filterCapacity, groupFilters, falsePositiveRate };
  // A filter that would be too large is refused now, not by the first `add`.
  planGroup(plan, 0);
  return plan;
}

/** The lowest rate of an array: half of it is for the first group. */
export function lowestRate(groupFilters: number): number {
  return 2 * groupFilters * RATE_MIN;
}

/**
 * The shape of the filters of group `index`; undefined if their rate would be too low. Group g may have the rate
 * `rate / ((g + 1) (g + 2))`, and these shares add up to the rate, however many groups there are.
 * @throws UsageError if the filters would be too large
 */
export function planGroup(
  { filterCapacity, groupFilters, falsePositiveRate }: ArrayPlan,
  index: number,
): Shape | undefined {
  const groupRate = falsePositiveRate / ((index + 1) * (index + 2));
  const rate = -Math.expm1(Math.log1p(-groupRate) / groupFilters);
  if (rate < RATE_MIN) return undefined;
  const { positions, hashes } = planFilter({ capacity: filterCapacity, fpr: rate });
  return { filterCapacity, positions, hashes };
}
