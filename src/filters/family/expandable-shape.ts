import { type CapacityOptions, checkCapacity, checkRate, checkReachable } from './sizing.ts';
import { isWholeNumber } from './saved-filter.ts';

const HOMES_MIN = 8;
const HOMES_MAX = 2 ** 28;
const GENERATION_MAX = 25;
/** Four of five slots are used: with more, the runs that a look-up passes get long. */
const USED_OF_FIVE = 4;
const BASE_BITS_MIN = 3;
/** With 10 more bits after 25 doublings and a bit for the length, a fingerprint has 28 bits. */
const BASE_BITS_MAX = 17;
/** Sum of 2^-(F - f) over all generations, of which each but the first adds half of what the slots have room for. */
const GENERATIONS_FACTOR = 1.26;
const FACTOR = (USED_OF_FIVE / 5) * GENERATIONS_FACTOR;

/** The lowest rate of an expandable filter, 7.7e-6. */
export const EXPANDABLE_RATE_MIN: number = FACTOR * 2 ** -BASE_BITS_MAX;

/** What an expandable filter is created with. */
export interface ExpandableShape {
  /** Number of slots at first, a multiple of 4. */
  readonly firstHomes: number;
  /** f: length of the first fingerprints. */
  readonly baseBits: number;
}

/** @throws UsageError if a value is out of range */
export function expandableShapeOf({ capacity, falsePositiveRate }: CapacityOptions): ExpandableShape {
  checkCapacity(capacity, roomOf(HOMES_MAX));
  checkRate(falsePositiveRate);
  checkReachable(falsePositiveRate, EXPANDABLE_RATE_MIN);
  const baseBits = Math.max(BASE_BITS_MIN, Math.ceil(Math.log2(FACTOR / falsePositiveRate)));
  const firstHomes = Math.max(HOMES_MIN, Math.ceil((capacity * 5) / USED_OF_FIVE / 4) * 4);
  return { firstHomes, baseBits };
}

/** Whether saved numbers can be a shape and a number of doublings. */
export function isExpandableShape(
  firstHomes: number | undefined,
  baseBits: number | undefined,
  generation: number | undefined,
): boolean {
  return (
    isWholeNumber(firstHomes, HOMES_MIN, HOMES_MAX) &&
    firstHomes % 4 === 0 &&
    isWholeNumber(baseBits, BASE_BITS_MIN, BASE_BITS_MAX) &&
    isWholeNumber(generation, 0, GENERATION_MAX) &&
    firstHomes * 2 ** generation <= HOMES_MAX
  );
}

export function canDouble(homes: number, generation: number): boolean {
  return homes * 2 <= HOMES_MAX && generation < GENERATION_MAX;
}

/** Number of fingerprints at which the slots double. */
export function roomOf(homes: number): number {
  return Math.floor((homes * USED_OF_FIVE) / 5);
}

/** F: the length of the fingerprints that are added after this number of doublings. */
export function lengthIn(baseBits: number, generation: number): number {
  return baseBits + Math.ceil(2 * Math.log2(generation + 1));
}

/** The length of a fingerprint: the number of bits after its leading one. */
export function lengthOf(value: number): number {
  return 31 - Math.clz32(value);
}
