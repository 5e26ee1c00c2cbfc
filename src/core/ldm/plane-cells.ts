import { bytesOver } from './image-words.ts';
import { planeBytes, wordsOf } from './plane.ts';
import { stepFrom } from './positions.ts';

export const SLOTS_MAX = 32;

/** For a distance s: the bits that remain after groups of s bits were moved apart by s. */
const APART: Readonly<Record<number, number>> = { 1: 0x55555555, 2: 0x33333333, 4: 0x0f0f0f0f, 8: 0x00ff00ff };

/**
 * The planes of up to 32 domains that share m. All bits of one position are next to each other in a cell, so one pass
 * over the k positions of an id answers for all domains, with as many cache misses as for one.
 *
 * A cell has 1, 2, 4, 8, 16 or 32 bits: as many as there are slots, rounded up to a power of two. So the cells of d
 * domains take less than twice the memory of d separate planes, and a single domain takes m bits.
 *
 * Measured with m = 10^8, k = 7 and half of the bits set, for absent chunks: cells of 2 bits take 25 MB and 0.16 us per
 * id, two separate planes 25 MB and 0.27 us. With 32 domains, it is 400 MB and 0.21 us instead of 400 MB and 3.9 us.
 * Cells of 32 bits from the second domain on would take 400 MB and 0.2 us for two domains. To double the cells takes
 * 0.06 s (to 2 bits) to 0.4 s (to 32).
 */
export class PlaneCells {
  readonly positions: number;
  /** The binary logarithm of the number of bits per cell. */
  #scale = 0;
  #words: Uint32Array;

  constructor(positions: number) {
    this.positions = positions;
    this.#words = new Uint32Array(wordCountOf(positions, 0));
  }

  get memoryBytes(): number {
    return this.#words.byteLength;
  }

  /** Makes cells wide enough for this number of slots, 1 to `SLOTS_MAX`. New slots are 0. */
  widen(slotCount: number): void {
    while (1 << this.#scale < slotCount) {
      this.#words = twiceAsWide(this.#words, 1 << this.#scale, wordCountOf(this.positions, this.#scale + 1));
      this.#scale++;
    }
  }

  /** Replaces the plane in a slot. */
  write(slot: number, plane: Uint8Array): void {
    const words = this.#words;
    const source = paddedWords(plane, this.positions);
    if (this.#scale === 0) return words.set(source);
    const spread = spreadTable(this.#scale, slot);
    const cellMask = spread.length - 1;
    const keep = ~spread[cellMask]!;
    const cellsPerWord = 32 >>> this.#scale;
    let position = 0;
    for (let index = 0; index < words.length; index++, position += cellsPerWord) {
      const bits = (source[position >>> 5]! >>> (position & 31)) & cellMask;
      words[index] = (words[index]! & keep) | spread[bits]!;
    }
  }

  /** Returns the plane in a slot: position p is bit p % 32 of word p / 32. */
  read(slot: number): Uint32Array {
    const plane = new Uint32Array(wordCountOf(this.positions, 0));
    const wordShift = 5 - this.#scale;
    const cellMask = (1 << wordShift) - 1;
    for (let position = 0; position < this.positions; position++) {
      const cell = this.#words[position >>> wordShift]! >>> ((position & cellMask) << this.#scale);
      plane[position >>> 5]! |= ((cell >>> slot) & 1) << position;
    }
    return plane;
  }

  /** Makes a slot 0. */
  clear(slot: number): void {
    const spread = spreadTable(this.#scale, slot);
    const keep = this.#scale === 0 ? 0 : ~spread[spread.length - 1]!;
    for (let index = 0; index < this.#words.length; index++) this.#words[index]! &= keep;
  }

  /** Changes the bit of a slot at each of these positions, which must be below m. */
  flip(slot: number, flips: Uint32Array): void {
    const wordShift = 5 - this.#scale;
    const cellMask = (1 << wordShift) - 1;
    for (const position of flips) {
      this.#words[position >>> wordShift]! ^= 1 << (((position & cellMask) << this.#scale) + slot);
    }
  }

  /** Makes the k positions of an id 1 in a slot. Returns how many of them were 0. */
  add(slot: number, start: number, stride: number, hashes: number): number {
    const words = this.#words;
    const wordShift = 5 - this.#scale;
    const cellMask = (1 << wordShift) - 1;
    let added = 0;
    let position = start;
    for (let left = hashes; left > 0; left--) {
      const bit = ((position & cellMask) << this.#scale) + slot;
      const word = words[position >>> wordShift]!;
      added += 1 - ((word >>> bit) & 1);
      words[position >>> wordShift] = word | (1 << bit);
      position = stepFrom(position, stride, this.positions);
    }
    return added;
  }

  /**
   * Returns which of the slots in the bit mask `slots` have a 1 at each of the k positions, as a bit mask. Stops as soon
   * as none is left.
   */
  probe(start: number, stride: number, hashes: number, slots: number): number {
    const words = this.#words;
    const scale = this.#scale;
    const wordShift = 5 - scale;
    const cellMask = (1 << wordShift) - 1;
    let left = slots;
    let position = start;
    for (let hash = 0; hash < hashes && left !== 0; hash++) {
      // A shift by slots moves foreign cells into the upper bits, which are 0 in `slots`.
      left &= words[position >>> wordShift]! >>> ((position & cellMask) << scale);
      position = stepFrom(position, stride, this.positions);
    }
    return left;
  }
}

function wordCountOf(positions: number, scale: number): number {
  return Math.ceil((positions * 2 ** scale) / 32);
}

/** The words of a plane, with zeros up to the end of the last word. */
function paddedWords(plane: Uint8Array, positions: number): Uint32Array {
  if (plane.length % 4 === 0) return wordsOf(plane);
  const words = new Uint32Array(wordCountOf(positions, 0));
  bytesOver(words).set(plane.subarray(0, planeBytes(positions)));
  return words;
}

/** For as many bits of a plane as a word has cells: the word with these bits at `slot` of each cell. Empty for scale 0. */
function spreadTable(scale: number, slot: number): Uint32Array {
  const cellsPerWord = 32 >>> scale;
  if (scale === 0) return new Uint32Array(0);
  const spread = new Uint32Array(1 << cellsPerWord);
  for (let bits = 1; bits < spread.length; bits++) {
    const highest = 31 - Math.clz32(bits);
    spread[bits] = spread[bits ^ (1 << highest)]! | (1 << ((highest << scale) + slot));
  }
  return spread;
}

/** Copies cells of `bits` bits to cells of twice the size; each word becomes two words. */
function twiceAsWide(words: Uint32Array, bits: number, wordCount: number): Uint32Array {
  const wide = new Uint32Array(wordCount);
  for (let index = 0; index < wordCount; index++) {
    let half = (words[index >>> 1]! >>> ((index & 1) << 4)) & 0xffff;
    for (let distance = 8; distance >= bits; distance >>>= 1) half = (half | (half << distance)) & APART[distance]!;
    wide[index] = half;
  }
  return wide;
}
