import { UsageError } from '../errors.ts';

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
