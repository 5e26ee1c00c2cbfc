import { emptyHeads, findOnChain, pushOnChain, readChain, removeFromChain } from './chains.ts';
import { NEXT, NIL, type EntryTable } from './entry-table.ts';

const MIN_HEADS_BITS = 10;
const MAX_LOAD = 2;
const MIN_LOAD = 1 / 8;
/** The start and stride use words 0 to 3, so word 4 is independent of the filter position. */
const BUCKET_WORD = 4;

/**
 * The chains of the dead chunks, which are known and have a location but are not counted in the filter. The number of
 * heads grows and shrinks with the number of dead chunks (2 to 4 bytes per chunk) and does not depend on the plan. The
 * leading bits of the last word of an id select its head.
 */
export class DeadChains {
  readonly #entries: EntryTable;
  #heads: Uint32Array;
  #shift: number;
  #count: number;

  /** @param saved - heads (a power of two) and entry count of chains that were saved */
  constructor(entries: EntryTable, saved?: { readonly heads: Uint32Array; readonly count: number }) {
    this.#entries = entries;
    this.#heads = saved?.heads ?? emptyHeads(2 ** MIN_HEADS_BITS);
    this.#shift = shiftFor(this.#heads);
    this.#count = saved?.count ?? 0;
  }

  get count(): number {
    return this.#count;
  }

  get heads(): Uint32Array {
    return this.#heads;
  }

  find(id: Uint32Array): number {
    return this.#count === 0 ? NIL : findOnChain(this.#entries, this.#heads[id[BUCKET_WORD]! >>> this.#shift]!, id);
  }

  push(entry: number): void {
    if (this.#count >= this.#heads.length * MAX_LOAD) this.#resize(this.#heads.length * 2);
    pushOnChain(this.#entries, this.#heads, this.#headOf(entry), entry);
    this.#count++;
  }

  remove(entry: number): void {
    removeFromChain(this.#entries, this.#heads, this.#headOf(entry), entry);
    this.#count--;
    const isSparse = this.#count < this.#heads.length * MIN_LOAD;
    if (isSparse && this.#heads.length > 2 ** MIN_HEADS_BITS) this.#resize(this.#heads.length / 2);
  }

  /** Visits all entries chain by chain, sorted by id within a chain. */
  forEachInOrder(visit: (entry: number, head: number) => void): void {
    const chain: number[] = [];
    for (const [head, first] of this.#heads.entries()) {
      chain.length = readChain(this.#entries, first, chain);
      if (chain.length > 1) chain.sort((a, b) => (this.#entries.hasIdBefore(a, b) ? -1 : 1));
      for (const entry of chain) visit(entry, head);
    }
  }

  #headOf(entry: number): number {
    return this.#entries.get(entry, BUCKET_WORD) >>> this.#shift;
  }

  #resize(headCount: number): void {
    const old = this.#heads;
    this.#heads = emptyHeads(headCount);
    this.#shift = shiftFor(this.#heads);
    for (let entry of old) {
      while (entry !== NIL) {
        const next = this.#entries.get(entry, NEXT);
        pushOnChain(this.#entries, this.#heads, this.#headOf(entry), entry);
        entry = next;
      }
    }
  }
}

function shiftFor(heads: Uint32Array): number {
  return 32 - Math.log2(heads.length);
}
