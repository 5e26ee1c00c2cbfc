import { UsageError } from '../../core/errors.ts';

/** Exceeds the memory limit of every structure; each has its own lower limit. */
const CAPACITY_MAX = 2 ** 40;

/** @throws UsageError unless it is an integer from 1 to `highest` */
export function checkCapacity(capacity: number, highest: number = CAPACITY_MAX): void {
  if (Number.isInteger(capacity) && capacity >= 1 && capacity <= highest) return;
  throw new UsageError(`a capacity of ${capacity} ids is out of range`, {
    hint: `Give a whole number from 1 to ${highest}.`,
  });
}

/** @throws UsageError unless it is above 0 and below 1 */
export function checkRate(falsePositiveRate: number): void {
  if (falsePositiveRate > 0 && falsePositiveRate < 1) return;
  throw new UsageError(`a false positive rate of ${falsePositiveRate} is out of range`, {
    hint: 'Give a rate above 0 and below 1, such as 0.01.',
  });
}

export interface CapacityOptions {
  /** n_max: maximum number of distinct ids. */
  readonly capacity: number;
  /** The highest false positive rate at full capacity, above 0 and below 1. */
  readonly falsePositiveRate: number;
}

/** @throws UsageError if the rate is lower than a structure with fixed sizes can reach */
export function checkReachable(falsePositiveRate: number, lowest: number): void {
  if (falsePositiveRate >= lowest) return;
  throw new UsageError(`a false positive rate of ${falsePositiveRate} is lower than this filter can reach`, {
    hint: `Give a rate of ${roundedUp(lowest)} or more.`,
  });
}

/** Rounds up to two digits, so that the rate in the hint is accepted. */
function roundedUp(rate: number): string {
  const unit = 10 ** (Math.floor(Math.log10(rate)) - 1);
  return (Math.ceil(rate / unit) * unit).toPrecision(2);
}
