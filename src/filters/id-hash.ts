import assert from 'node:assert/strict';
import { ID_WORDS } from '../filter/positions.ts';
import { murmur3 } from './murmur3.ts';

/** Makes four words of an id, other ones with another seed. */
export type IdHash = (id: Uint8Array, seed: number, out: Uint32Array) => void;

/** An option of the structures that hash their ids. */
export interface IdHashOption {
  /**
   * MurmurHash3 without it. `takeUniformId` is for measurements with ids that are uniform already: such a filter is
   * neither saved nor merged, because nothing in its bytes would say how its ids were put in.
   */
  readonly idHash?: IdHash | undefined;
}

/** The words of an id of 20 uniform bytes as they are, from the first word on, or from the last one on with another seed than 0. */
export function takeUniformId(id: Uint8Array, seed: number, out: Uint32Array): void {
  let word = seed === 0 ? 0 : ID_WORDS - 1;
  for (let index = 0; index < out.length; index++) {
    const at = word * 4;
    out[index] = id[at]! | (id[at + 1]! << 8) | (id[at + 2]! << 16) | (id[at + 3]! << 24);
    word = word === ID_WORDS - 1 ? 0 : word + 1;
  }
}

/** @throws AssertionError for a filter that can be neither saved nor merged */
export function assertHashed(idHash: IdHash): void {
  assert(idHash === murmur3, 'a filter with ids that are not hashed can be neither saved nor merged');
}
