import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';

const PAGE_BITS = 12;
const PAGE_SIZE = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_SIZE - 1;

/**
 * The ids that chunks have in another repository, by their numbers in the filter of this one: 20 bytes for each, and 4
 * for each known chunk. The pages never move.
 */
export class IdMap {
  /** By number of the chunk: 0 if it is not in the map, else the place of its id plus 1. */
  readonly #places: (Uint32Array | undefined)[] = [];
  readonly #ids: Buffer[] = [];
  #count = 0;

  has(entry: number): boolean {
    return this.#placeOf(entry) > 0;
  }

  /** Returns a view of the id, or undefined. */
  get(entry: number): Uint8Array | undefined {
    const place = this.#placeOf(entry) - 1;
    if (place < 0) return undefined;
    const start = (place & PAGE_MASK) * CHUNK_ID_BYTES;
    return this.#ids[place >>> PAGE_BITS]!.subarray(start, start + CHUNK_ID_BYTES);
  }

  /** Adds a chunk that is not in the map. Copies the id. */
  add(entry: number, id: Uint8Array): void {
    const place = this.#count++;
    if (place === this.#ids.length * PAGE_SIZE) this.#ids.push(Buffer.allocUnsafeSlow(PAGE_SIZE * CHUNK_ID_BYTES));
    this.#ids[place >>> PAGE_BITS]!.set(id, (place & PAGE_MASK) * CHUNK_ID_BYTES);
    (this.#places[entry >>> PAGE_BITS] ??= new Uint32Array(PAGE_SIZE))[entry & PAGE_MASK] = place + 1;
  }

  #placeOf(entry: number): number {
    return this.#places[entry >>> PAGE_BITS]?.[entry & PAGE_MASK] ?? 0;
  }
}
