import { MAX_CAPACITY, MAX_POSITIONS, planFilter } from '../../core/ldm/formulas.ts';
import { startOf, strideOf } from '../../core/ldm/positions.ts';
import { addToSlice, emptySlice, isInSlice, loadSlice, type Shape, type Slice } from './bloom-slice.ts';
import { HASH_WORDS, type HashList } from './hash-list.ts';
import type { Fragment } from './range-box.ts';
import { checkSaved, isWholeNumber } from './saved-filter.ts';

/** A Bloom filter of the chunks of a leaf. */
export interface Leaf {
  readonly shape: Shape;
  readonly slice: Slice;
}

/** @param rate - of this leaf */
export function makeLeaf(fragments: readonly Fragment[], { words }: HashList, rate: number): Leaf {
  const elements = fragments.reduce((sum, { count }) => sum + count, 0);
  const { hashes, positions } = planFilter({ capacity: Math.max(1, elements), fpr: rate });
  const shape = { filterCapacity: elements, positions, hashes };
  const slice = emptySlice(shape);
  for (const { first, count } of fragments) {
    for (let at = first * HASH_WORDS; at < (first + count) * HASH_WORDS; at += HASH_WORDS) {
      addToSlice(slice, startOf(words, at, positions), strideOf(words, at, positions), shape);
    }
  }
  return { shape, slice };
}

interface LeafNumbers {
  readonly hashes: number;
  readonly positions: number | undefined;
  readonly elements: number | undefined;
}

/** @throws CorruptDataError if the saved bits do not match the numbers */
export function loadLeaf(array: Uint8Array<ArrayBuffer>, numbers: LeafNumbers, index: number): Leaf {
  const { hashes, positions, elements } = numbers;
  const isPossible = isWholeNumber(positions, 2, MAX_POSITIONS) && isWholeNumber(elements, 0, MAX_CAPACITY);
  const slice = isPossible ? loadSlice(array, positions, elements) : undefined;
  checkSaved(isPossible && slice !== undefined, 'range-tree', `leaf ${index} does not match the numbers`);
  return { shape: { filterCapacity: elements, positions, hashes }, slice };
}

export function isInLeaf({ slice, shape }: Leaf, hash: Uint32Array): boolean {
  return isInSlice(slice.words, startOf(hash, 0, shape.positions), strideOf(hash, 0, shape.positions), shape);
}
