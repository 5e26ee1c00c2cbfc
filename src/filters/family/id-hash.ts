import assert from 'node:assert/strict';
import { ID_WORDS } from '../../core/ldm/positions.ts';
import { murmur3 } from '../../core/util/murmur3.ts';

/** Derives four words from an id; a different seed gives different words. */
export type IdHash = (id: Uint8Array, seed: number, out: Uint32Array) => void;

/** Option of the structures that hash their ids. */
export interface IdHashOption {
  /**
   * Default: MurmurHash3, in `SplitBlockBloomFilter` XXH64. `takeUniformId` is for measurements with ids that are already uniform. A filter with it can
   * be neither saved nor merged, because its bytes do not record how the ids were hashed.
   */
  readonly idHash?: IdHash | undefined;
}

/** Copies words of an id of 20 uniform bytes: from the first word if the seed is 0, else from the last word on. */
export function takeUniformId(id: Uint8Array, seed: number, out: Uint32Array): void {
  let word = seed === 0 ? 0 : ID_WORDS - 1;
  for (let index = 0; index < out.length; index++) {
    const at = word * 4;
    out[index] = id[at]! | (id[at + 1]! << 8) | (id[at + 2]! << 16) | (id[at + 3]! << 24);
    word = word === ID_WORDS - 1 ? 0 : word + 1;
  }
}

/** @throws AssertionError if the filter can be neither saved nor merged */
export function assertHashed(idHash: IdHash, usual: IdHash = murmur3): void {
  assert(idHash === usual, 'a filter with unhashed ids can be neither saved nor merged');
}
