import { repeatRate } from '../../core/ldm/double-hashing.ts';
import { stepFrom } from '../../core/ldm/positions.ts';

/** The parameters that all Bloom filters of a list share. */
export interface Shape {
  /** c: number of ids per filter. */
  readonly filterCapacity: number;
  /** m: bits per filter, a prime below 2^31. */
  readonly positions: number;
  /** k */
  readonly hashes: number;
}

/** One Bloom filter of a list. All of them use the same start and stride: start, start + stride, ..., modulo m. */
export interface Slice {
  readonly words: Uint32Array;
  bitCount: number;
  elements: number;
}

export function wordCount(positions: number): number {
  return Math.ceil(positions / 32);
}

export function emptySlice(shape: Shape): Slice {
  return { words: new Uint32Array(wordCount(shape.positions)), bitCount: 0, elements: 0 };
}

/** The filter with these saved bits; undefined if they are too few, too many, or go on after the last position. */
export function loadSlice(array: Uint8Array<ArrayBuffer>, positions: number, elements: number): Slice | undefined {
  if (array.length !== wordCount(positions) * 4) return undefined;
  const words = new Uint32Array(array.buffer);
  if (positions % 32 !== 0 && words.at(-1)! >>> (positions % 32) !== 0) return undefined;
  return { words, bitCount: countBits(words), elements };
}

export function addToSlice(slice: Slice, start: number, stride: number, { positions, hashes }: Shape): void {
  const { words } = slice;
  let position = start;
  for (let left = hashes; left > 0; left--) {
    const word = words[position >>> 5]!;
    slice.bitCount += 1 - ((word >>> position) & 1);
    words[position >>> 5] = word | (1 << position);
    position = stepFrom(position, stride, positions);
  }
  slice.elements++;
}

export function isInSlice(words: Uint32Array, start: number, stride: number, { positions, hashes }: Shape): boolean {
  let position = start;
  for (let left = hashes; left > 0; left--) {
    if (((words[position >>> 5]! >>> position) & 1) === 0) return false;
    position = stepFrom(position, stride, positions);
  }
  return true;
}

function countBits(words: Uint32Array): number {
  let count = 0;
  for (let word of words) for (; word !== 0; word &= word - 1) count++;
  return count;
}

type Fill = Pick<Slice, 'bitCount' | 'elements'>;

/** Logarithm of the probability that an absent id is not found in a filter; it keeps the digits of rates far below 1. */
export function logOfMiss({ bitCount, elements }: Fill, { positions, hashes }: Shape): number {
  const independent = (bitCount / positions) ** hashes;
  return Math.log1p(-independent) + Math.log1p(-repeatRate(positions, elements, hashes));
}

/** The rate at which an absent id is found in any of the filters: `1 - prod(1 - f_i)`. */
export function rateOfAny(fills: readonly Fill[], shape: Shape): number {
  return -Math.expm1(fills.reduce((sum, fill) => sum + logOfMiss(fill, shape), 0)) || 0;
}
