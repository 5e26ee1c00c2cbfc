import { UsageError } from '../../core/errors.ts';
import { positionsForRate } from '../../core/ldm/formulas.ts';
import { nextPrime } from '../../core/ldm/positions.ts';
import type { Shape } from './bloom-slice.ts';
import { checkCapacity, checkRate, type CapacityOptions } from './sizing.ts';

export interface ListOptions extends CapacityOptions {
  /** c: ids per filter of the list; default: an eighth of the capacity. */
  readonly filterCapacity?: number;
}

const DEFAULT_FILTERS = 8;
export const CAPACITY_MAX: number = 2 ** 40;
export const HASHES_MAX = 64;
/** Positions use signed 32-bit operators. */
export const POSITIONS_MAX: number = 2 ** 31 - 1;

/**
 * The shape of each filter of a dynamic Bloom filter. With s filters at n_max, each gets the rate
 * `1 - (1 - rate)^(1/s)`, so that all together have the given one.
 * @throws UsageError if a value is out of range
 */
export function planList({ capacity, falsePositiveRate, filterCapacity: given }: ListOptions): Shape {
  const filterCapacity = given ?? Math.ceil(capacity / DEFAULT_FILTERS);
  checkCapacity(capacity, CAPACITY_MAX);
  checkCapacity(filterCapacity, CAPACITY_MAX);
  checkRate(falsePositiveRate);
  const filters = Math.ceil(capacity / filterCapacity);
  const filterRate = -Math.expm1(Math.log1p(-falsePositiveRate) / filters);
  const hashes = Math.max(1, Math.round(-Math.log2(filterRate)));
  const positions = Math.max(2, positionsForRate(filterCapacity, hashes, filterRate));
  if (hashes > HASHES_MAX || positions > POSITIONS_MAX / 1.01) {
    throw new UsageError(
      `a Bloom filter of ${positions} bits with ${hashes} hashes is not possible in a list of filters`,
      {
        hint: 'Choose a lower capacity for each filter, or a higher rate.',
      },
    );
  }
  return { filterCapacity, positions: nextPrime(positions), hashes };
}
