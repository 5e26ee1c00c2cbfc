import { emptyHeads, findOnChain, pushOnChain, readChain, removeFromChain } from './chains.ts';
import { baseOf, NEXT, NIL, type EntryTable } from './entry-table.ts';
import type { FilterPlan } from './formulas.ts';
import { headOfLink, linkOf } from './positions.ts';

/**
 * The chains of the live chunks. A chunk belongs to the chain at its link position. Neighbouring link positions share
 * one chain, because one head for each of the ~10 n positions would cost 40 bytes per chunk. Heads are in the order of
 * their link positions.
 *
 * A saved filter has one head for each chunk of the capacity (`headOfLink`). In memory, each pair of neighbouring chains is
 * joined under one head, which saves 2 bytes per chunk.
 */
export class LiveChains {
  readonly heads: Uint32Array;
  readonly #entries: EntryTable;
  readonly #plan: FilterPlan;

  /** @param savedHeads - the heads of a saved filter, whose entries are in the order of `forEachInOrder` */
  constructor(entries: EntryTable, plan: FilterPlan, savedHeads?: Uint32Array) {
    this.#entries = entries;
    this.#plan = plan;
    this.heads = emptyHeads(Math.ceil(plan.capacity / 2));
    if (savedHeads !== undefined) this.#join(savedHeads);
  }

  /** `visited` gets the entries that were compared. */
  find(link: number, id: Uint32Array, visited?: number[]): number {
    return findOnChain(this.#entries, this.heads[this.#pairOf(link)]!, id, visited);
  }

  /** Calls `visit` with the length of each chain in memory, empty ones too. */
  forEachLength(visit: (length: number) => void): void {
    const chain: number[] = [];
    for (const first of this.heads) visit(readChain(this.#entries, first, chain));
  }

  push(link: number, entry: number): void {
    pushOnChain(this.#entries, this.heads, this.#pairOf(link), entry);
  }

  remove(link: number, entry: number): void {
    removeFromChain(this.#entries, this.heads, this.#pairOf(link), entry);
  }

  /** Visits all entries sorted by link position, then by id. */
  forEachInOrder(visit: (entry: number, link: number) => void): void {
    const entries = this.#entries;
    const { positions, hashes } = this.#plan;
    const chain: number[] = [];
    const links: number[] = [];
    for (const first of this.heads) {
      const length = readChain(entries, first, chain);
      for (let index = 0; index < length; index++) {
        const entry = chain[index]!;
        const link = linkOf(entries.pageOf(entry), baseOf(entry), positions, hashes);
        // Insertion sort, because a pair of chains has two or three entries.
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

  /** In saved entries, the last one of a chain comes right before the first one of the next chain. */
  #join(savedHeads: Uint32Array): void {
    for (let head = 0; head < savedHeads.length; head++) {
      const first = savedHeads[head]!;
      if (first === NIL) continue;
      if (this.heads[head >>> 1] === NIL) this.heads[head >>> 1] = first;
      else this.#entries.set(first - 1, NEXT, first);
    }
  }

  #pairOf(link: number): number {
    return headOfLink(link, this.#plan) >>> 1;
  }
}
