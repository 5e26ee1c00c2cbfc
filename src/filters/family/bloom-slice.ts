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

export function countBits(words: Uint32Array): number {
  let count = 0;
  for (let word of words) for (; word !== 0; word &= word - 1) count++;
  return count;
}
