import { UsageError } from '../../core/errors.ts';
import { positionsForRate } from '../../core/ldm/formulas.ts';
import { isPrime, nextPrime } from '../../core/ldm/positions.ts';
import type { CounterBits } from './packed-counters.ts';
import { checkCapacity, checkRate } from './sizing.ts';

export interface CountingOptions {
  /** n_max: number of ids for which the rate holds. */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** 4 bits suffice if each id is added once: at full capacity a counter reaches 15 with a probability of 2^-49. */
  readonly counterBits?: CounterBits | undefined;
  /** k; default: the one that needs the fewest counters. "Summary Cache" recommends 3 to 5, which hash less. */
  readonly hashes?: number | undefined;
  /** Uses a separate partition for each hash; the sizes are consecutive primes. */
  readonly isPartitioned?: boolean | undefined;
  readonly seed?: number | undefined;
}

/** The parameters that determine the counters of an id. */
export interface CountingShape {
  readonly counterBits: CounterBits;
  /** k */
  readonly hashes: number;
  readonly isPartitioned: boolean;
  /** m, or the number of counters in the first partition; a prime. */
  readonly firstSize: number;
  readonly seed: number;
}

/** Positions use signed 32-bit operators. */
const POSITIONS_MAX = 2 ** 31 - 1;
const HASHES_MAX = 64;
const SEED_MAX = 2 ** 32 - 1;

/**
 * Chooses `k = -log2 p`, rounded, unless it is given, and the fewest counters for which `(1 - (1 - 1/m)^(kn))^k` reaches the rate, rounded
 * up to a prime.
 * @throws UsageError if a value is out of range
 */
export function planCounting(options: CountingOptions): CountingShape {
  const { capacity, falsePositiveRate, counterBits = 4, isPartitioned = false, seed = 0 } = options;
  checkCapacity(capacity);
  checkRate(falsePositiveRate);
  const { hashes = Math.max(1, Math.round(-Math.log2(falsePositiveRate))) } = options;
  if (!(hashes >= 1)) throw new UsageError(`a counting Bloom filter needs 1 to ${HASHES_MAX} hashes, not ${hashes}`);
  const positions = positionsForRate(capacity, hashes, falsePositiveRate);
  const leastSize = isPartitioned ? Math.ceil(positions / hashes) : Math.max(positions, hashes + 1);
  if (leastSize < POSITIONS_MAX) {
    const shape = { counterBits, hashes, isPartitioned, firstSize: nextPrime(leastSize), seed };
    if (isPossible(shape)) return shape;
  }
  throw new UsageError(
    `a counting Bloom filter of ${positions} counters of ${counterBits} bits with ${hashes} hashes and seed ${seed} is not supported`,
    {
      hint: `Use at most ${POSITIONS_MAX} counters of 4, 8 or 16 bits, 1 to ${HASHES_MAX} hashes, and a seed from 0 to ${SEED_MAX}.`,
    },
  );
}

/** The numbers of a saved filter. */
export function savedNumbers(
  { counterBits, hashes, isPartitioned, firstSize, seed }: CountingShape,
  elements: number,
): number[] {
  return [counterBits, hashes, isPartitioned ? 1 : 0, firstSize, seed, elements];
}

/** Whether a filter can have this shape, which may come from a file. */
export function isPossible({ counterBits, hashes, isPartitioned, firstSize, seed }: CountingShape): boolean {
  const areWhole = [hashes, firstSize, seed].every((value) => Number.isInteger(value) && !Object.is(value, -0));
  if (!areWhole || ![4, 8, 16].includes(counterBits) || hashes < 1 || hashes > HASHES_MAX) return false;
  if (seed < 0 || seed > SEED_MAX || firstSize < 2 || firstSize > POSITIONS_MAX) return false;
  if (!isPrime(firstSize)) return false;
  // The k positions of an id are distinct only if there are more than k positions.
  if (!isPartitioned) return firstSize > hashes;
  return partitionSizes(firstSize, hashes).reduce((sum, size) => sum + size, 0) <= POSITIONS_MAX;
}

/** Returns `count` consecutive primes, starting with `firstSize`. */
export function partitionSizes(firstSize: number, count: number): number[] {
  const sizes = [firstSize];
  while (sizes.length < count) sizes.push(nextPrime(sizes.at(-1)! + 1));
  return sizes;
}
