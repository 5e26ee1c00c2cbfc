import { emptyHeads, findOnChain, pushOnChain, readChain, removeFromChain } from './chains.ts';
import { baseOf, type EntryTable } from './entry-table.ts';
import { linkOf } from './positions.ts';

/**
 * The chains of the live chunks. A chunk belongs to the chain at its link position. Neighbouring link positions share
 * one head, because one head for each of the ~10 n positions would cost 40 bytes per chunk. Heads are in the order of
 * their link positions.
 */
export class LiveChains {
  readonly heads: Uint32Array;
  readonly positions: number;
  readonly #entries: EntryTable;
  readonly #headsPerPosition: number;

  constructor(entries: EntryTable, positions: number, heads: number | Uint32Array) {
    this.#entries = entries;
    this.positions = positions;
    this.heads = typeof heads === 'number' ? emptyHeads(heads) : heads;
    this.#headsPerPosition = this.heads.length / positions;
  }

  find(link: number, id: Uint32Array): number {
    return findOnChain(this.#entries, this.heads[this.headOf(link)]!, id);
  }

  push(link: number, entry: number): void {
    pushOnChain(this.#entries, this.heads, this.headOf(link), entry);
  }

  remove(link: number, entry: number): void {
    removeFromChain(this.#entries, this.heads, this.headOf(link), entry);
  }

  /** Visits all entries sorted by link position, then by id. */
  forEachInOrder(hashes: number, visit: (entry: number, link: number) => void): void {
    const entries = this.#entries;
    const chain: number[] = [];
    const links: number[] = [];
    for (const first of this.heads) {
      const length = readChain(entries, first, chain);
      for (let index = 0; index < length; index++) {
        const entry = chain[index]!;
        const link = linkOf(entries.pageOf(entry), baseOf(entry), this.positions, hashes);
        // Insertion sort, because a chain has two or three entries.
        let at = index;
        for (; at > 0; at--) {
          const isInOrder =
            links[at - 1]! < link || (links[at - 1] === link && entries.hasIdBefore(chain[at - 1]!, entry));
          if (isInOrder) break;
          chain[at] = chain[at - 1]!;
          links[at] = links[at - 1]!;
        }
        chain[at] = entry;
        links[at] = link;
      }
      for (let index = 0; index < length; index++) visit(chain[index]!, links[index]!);
    }
  }

  headOf(link: number): number {
    return Math.floor(link * this.#headsPerPosition);
  }
}
