import { UsageError } from '../errors.ts';

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
