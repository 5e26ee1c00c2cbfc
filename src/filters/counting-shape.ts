import { UsageError } from '../errors.ts';
import { positionsForRate } from '../filter/formulas.ts';
import { isPrime, nextPrime } from '../filter/prime.ts';
import type { CounterBits } from './packed-counters.ts';
import { checkCapacity, checkRate } from './sizing.ts';

export interface CountingOptions {
  /** n_max: ids for which the rate holds. */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** 4 suffice for ids that are added once: at full capacity a counter reaches 15 with a probability of 2^-49. */
  readonly counterBits?: CounterBits | undefined;
  /** A partition of its own for each hash, of the sizes of consecutive primes. */
  readonly isPartitioned?: boolean | undefined;
  readonly seed?: number | undefined;
}

/** All that decides where ids are counted. */
export interface CountingShape {
  readonly counterBits: CounterBits;
  /** k */
  readonly hashes: number;
  readonly isPartitioned: boolean;
  /** m, or how many counters the first partition has; a prime. */
  readonly firstSize: number;
  readonly seed: number;
}

/** Positions are handled with signed 32-bit operators. */
const POSITIONS_MAX = 2 ** 31 - 1;
const HASHES_MAX = 64;
const SEED_MAX = 2 ** 32 - 1;

/**
 * `k = -log2 p`, rounded, and the fewest counters at which `(1 - (1 - 1/m)^(kn))^k` is the rate; up to a prime.
 * @throws UsageError for values out of range
 */
export function planCounting(options: CountingOptions): CountingShape {
  const { capacity, falsePositiveRate, counterBits = 4, isPartitioned = false, seed = 0 } = options;
  checkCapacity(capacity);
  checkRate(falsePositiveRate);
  const hashes = Math.max(1, Math.round(-Math.log2(falsePositiveRate)));
  const positions = positionsForRate(capacity, hashes, falsePositiveRate);
  const leastSize = isPartitioned ? Math.ceil(positions / hashes) : Math.max(positions, hashes + 1);
  if (leastSize < POSITIONS_MAX) {
    const shape = { counterBits, hashes, isPartitioned, firstSize: nextPrime(leastSize), seed };
    if (isPossible(shape)) return shape;
  }
  throw new UsageError(
    `a counting Bloom filter of ${positions} counters of ${counterBits} bits with ${hashes} hashes and seed ${seed} is not possible`,
    {
      hint: `At most ${POSITIONS_MAX} counters of 4, 8 or 16 bits, ${HASHES_MAX} hashes and seeds from 0 to ${SEED_MAX}.`,
    },
  );
}

/** Whether a filter may have this shape; for ones that were read. */
export function isPossible({ counterBits, hashes, isPartitioned, firstSize, seed }: CountingShape): boolean {
  const areWhole = [hashes, firstSize, seed].every((value) => Number.isInteger(value) && !Object.is(value, -0));
  if (!areWhole || ![4, 8, 16].includes(counterBits) || hashes < 1 || hashes > HASHES_MAX) return false;
  if (seed < 0 || seed > SEED_MAX || firstSize < 2 || firstSize > POSITIONS_MAX) return false;
  if (!isPrime(firstSize)) return false;
  // The k positions of an id differ only if there are more than k.
  if (!isPartitioned) return firstSize > hashes;
  return partitionSizes(firstSize, hashes).reduce((sum, size) => sum + size, 0) <= POSITIONS_MAX;
}

/** That many consecutive primes. */
export function partitionSizes(firstSize: number, count: number): number[] {
  const sizes = [firstSize];
  while (sizes.length < count) sizes.push(nextPrime(sizes.at(-1)! + 1));
  return sizes;
}
