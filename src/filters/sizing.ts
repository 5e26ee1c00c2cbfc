import { UsageError } from '../errors.ts';

/** More than any structure here has memory for; each has a lower limit of its own. */
const CAPACITY_MAX = 2 ** 40;

/** @throws UsageError unless it is a whole number of ids, at least 1 */
export function checkCapacity(capacity: number, highest: number = CAPACITY_MAX): void {
  if (Number.isInteger(capacity) && capacity >= 1 && capacity <= highest) return;
  throw new UsageError(`a capacity of ${capacity} ids is not possible`, {
    hint: `Give a whole number from 1 to ${highest}.`,
  });
}

/** @throws UsageError unless it lies between 0 and 1 */
export function checkRate(falsePositiveRate: number): void {
  if (falsePositiveRate > 0 && falsePositiveRate < 1) return;
  throw new UsageError(`a false positive rate of ${falsePositiveRate} is not possible`, {
    hint: 'Give a rate above 0 and below 1, such as 0.01.',
  });
}
