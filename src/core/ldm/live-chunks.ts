import { LiveChains } from './chains-live.ts';
import { CounterArray } from './counters.ts';
import { baseOf, NIL, type EntryTable } from './entry-table.ts';
import type { FilterPlan } from './formulas.ts';
import { linkFrom, startOf, strideOf } from './positions.ts';

/** The counters and chains of the live chunks for one plan. A larger plan needs a new object. */
export class LiveChunks {
  readonly plan: FilterPlan;
  readonly counters: CounterArray;
  readonly chains: LiveChains;
  readonly #entries: EntryTable;

  /** @param saved - saved counters and chain heads; if omitted, there are no live chunks. */
  constructor(
    plan: FilterPlan,
    entries: EntryTable,
    saved?: { readonly counters: Uint8Array; readonly heads: Uint32Array },
  ) {
    this.plan = plan;
    this.#entries = entries;
    this.counters = new CounterArray(plan.positions, plan.hashes, saved?.counters);
    this.chains = new LiveChains(entries, plan, saved?.heads);
  }

  /** Rebuilds counters and chains from the entries in memory. */
  static layOut(plan: FilterPlan, entries: EntryTable): LiveChunks {
    const live = new LiveChunks(plan, entries);
    entries.forEachReferenced((entry, page, base) => live.#enter(entry, page, base));
    return live;
  }

  /**
   * Returns the entry of a live chunk, or NIL. If any counter is 0 the chunk is absent, and the chain is not walked.
   * `visited` gets the entries that were compared.
   */
  find(id: Uint32Array, visited?: number[]): number {
    const { positions, hashes } = this.plan;
    const start = startOf(id, 0, positions);
    const stride = strideOf(id, 0, positions);
    if (!this.counters.probe(start, stride)) return NIL;
    return this.chains.find(linkFrom(start, stride, positions, hashes), id, visited);
  }

  /** Probes the counters only, like the first half of `find`. */
  mayContain(id: Uint32Array): boolean {
    const { positions } = this.plan;
    return this.counters.probe(startOf(id, 0, positions), strideOf(id, 0, positions));
  }

  /** Increments the k counters of a chunk and adds it to the chain at its link position. */
  add(entry: number): void {
    this.#enter(entry, this.#entries.pageOf(entry), baseOf(entry));
  }

  remove(entry: number): void {
    const { positions, hashes } = this.plan;
    const page = this.#entries.pageOf(entry);
    const base = baseOf(entry);
    const start = startOf(page, base, positions);
    const stride = strideOf(page, base, positions);
    this.counters.subtract(start, stride);
    this.chains.remove(linkFrom(start, stride, positions, hashes), entry);
  }

  #enter(entry: number, page: Uint32Array, base: number): void {
    const { positions, hashes } = this.plan;
    const start = startOf(page, base, positions);
    const stride = strideOf(page, base, positions);
    this.counters.add(start, stride);
    this.chains.push(linkFrom(start, stride, positions, hashes), entry);
  }
}
