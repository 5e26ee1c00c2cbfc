import { CHUNK_ID_BYTES } from '../format/constants.ts';

/**
 * Counts files that are gone from one path and new at another one, by their chunks. Needs 8 bytes for each file that is
 * new or gone. Empty files are left out: they are all equal.
 */
export class MovedFiles {
  readonly #added = new KeyList();
  readonly #removed = new KeyList();

  addNew(chunkIds: Uint8Array): void {
    if (chunkIds.length > 0) this.#added.add(keyOf(chunkIds));
  }

  addRemoved(chunkIds: Uint8Array): void {
    if (chunkIds.length > 0) this.#removed.add(keyOf(chunkIds));
  }

  /** Each file that is gone is found again at most once. */
  count(): number {
    const [added, removed] = [this.#added.sorted(), this.#removed.sorted()];
    let count = 0;
    for (let i = 0, j = 0; i < added.length && j < removed.length;) {
      const difference = added[i]! - removed[j]!;
      if (difference === 0) count += 1;
      if (difference <= 0) i += 1;
      if (difference >= 0) j += 1;
    }
    return count;
  }
}

/** Numbers that are added one by one. */
class KeyList {
  #keys = new Float64Array(256);
  #length = 0;

  add(key: number): void {
    if (this.#length === this.#keys.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#keys);
      this.#keys = larger;
    }
    this.#keys[this.#length] = key;
    this.#length += 1;
  }

  sorted(): Float64Array {
    return this.#keys.subarray(0, this.#length).sort();
  }
}

/** Returns a number of 53 bits that depends on all chunks and their order. Ids are keyed hashes: their bits are random. */
function keyOf(chunkIds: Uint8Array): number {
  const { buffer, byteOffset, byteLength } = chunkIds;
  const ids = new DataView(buffer, byteOffset, byteLength);
  let high = 0;
  let low = 0;
  for (let offset = 0; offset < byteLength; offset += CHUNK_ID_BYTES) {
    high = Math.imul(high, 31) ^ ids.getUint32(offset);
    low = Math.imul(low, 37) ^ ids.getUint32(offset + 4);
  }
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}
