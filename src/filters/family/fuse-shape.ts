import { isWholeNumber } from './saved-filter.ts';

const SEGMENT_LENGTH_MAX = 2 ** 18;
const SEGMENTS_MAX = 2 ** 20;
const TWO_POW_16 = 2 ** 16;

/**
 * The array of a binary fuse filter: segments of a length that is a power of two. A key has one slot in each of three
 * consecutive segments.
 */
export interface FuseShape {
  /** A power of two, at most 2^18. */
  readonly segmentLength: number;
  /** Number of slots in which the first of the three can be. */
  readonly firstSlots: number;
  /** Number of all slots, two segments more. */
  readonly slots: number;
}

/**
 * The sizes for n distinct keys, with the constants of Graf and Lemire (2022) for three slots: segments of 2^floor(ln n /
 * ln 3.33 + 2.25), and at least 0.875 + 0.25 ln 10^6 / ln n slots for each key, but never less than 1.125.
 */
export function fuseShapeOf(keys: number): FuseShape {
  if (keys === 0) return fuseShape(1, 2);
  const segmentLength = Math.min(SEGMENT_LENGTH_MAX, 2 ** Math.floor(Math.log(keys) / Math.log(3.33) + 2.25));
  const slotsPerKey = keys === 1 ? 0 : Math.max(1.125, 0.875 + (0.25 * Math.log(1e6)) / Math.log(keys));
  const segments = Math.max(3, Math.ceil(Math.round(keys * slotsPerKey) / segmentLength));
  return fuseShape(segmentLength, segments);
}

/** @param segments - at least 2; with 2, there is no first slot */
export function fuseShape(segmentLength: number, segments: number): FuseShape {
  return { segmentLength, firstSlots: (segments - 2) * segmentLength, slots: segments * segmentLength };
}

/** Whether saved numbers can be the length and the number of segments for this number of keys. */
export function isFuseShape(keys: number, segmentLength: number | undefined, segments: number | undefined): boolean {
  return (
    isWholeNumber(segmentLength, 1, SEGMENT_LENGTH_MAX) &&
    Number.isInteger(Math.log2(segmentLength)) &&
    isWholeNumber(segments, keys === 0 ? 2 : 3, SEGMENTS_MAX) &&
    segments * segmentLength >= keys
  );
}

/**
 * The first slot of a key: the upper 64 bits of the product of its hash and `firstSlots`. That is below 2^28, so each
 * product with 16 bits is exact.
 */
export function firstSlotOf(low: number, high: number, firstSlots: number): number {
  const carried = Math.floor((low & 0xffff) * firstSlots * (1 / TWO_POW_16));
  const lower = Math.floor(((low >>> 16) * firstSlots + carried) * (1 / TWO_POW_16));
  const middle = Math.floor(((high & 0xffff) * firstSlots + lower) * (1 / TWO_POW_16));
  return Math.floor(((high >>> 16) * firstSlots + middle) * (1 / TWO_POW_16));
}

/** The slot in the segment after the first one: bits 18 to 35 of the hash, within the length of a segment. */
export function secondSlotOf(first: number, low: number, high: number, segmentLength: number): number {
  return (first + segmentLength) ^ (((low >>> 18) | (high << 14)) & (segmentLength - 1));
}

/** The slot two segments after the first one: the lowest bits of the hash. */
export function thirdSlotOf(first: number, low: number, segmentLength: number): number {
  return (first + 2 * segmentLength) ^ (low & (segmentLength - 1));
}
