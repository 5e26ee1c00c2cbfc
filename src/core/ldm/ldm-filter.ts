import assert from 'node:assert/strict';
import { DeadChains } from './chains-dead.ts';
import type { CounterArray } from './counters.ts';
import { NO_PACK, type ChunkLocation, EntryTable, LENGTH, NIL, PACK, REFS, STORED, wholePages } from './entry-table.ts';
import { arrangeEntries, type FilterParts } from './filter-parts.ts';
import { collectStatistics, type FilterStatistics } from './filter-statistics.ts';
import { growPlan, type FilterPlan } from './formulas.ts';
import { LiveChunks } from './live-chunks.ts';
import { ID_WORDS, readIdWords } from './positions.ts';

export { NO_PACK, type ChunkLocation } from './entry-table.ts';

/** No known chunk has this id. */
export const NO_ENTRY = -1;

const REFS_MAX = 0xffff_ffff;
/** A larger factor costs memory, a smaller one time. With 7 hashes, counters and heads take 7 to 11 bytes per chunk. */
export const GROWTH_FACTOR = 1.5;

/**
 * The LDM filter: it stores which chunks are known, their locations, and their reference counts.
 *
 * Every known chunk has one entry in a table of typed arrays and keeps its entry number as long as it is known. A chunk
 * with references is live: it is counted at its k positions and is on the chain at its link position. A known chunk
 * without references is dead: it is not counted and is on a chain of dead chunks. The counters only decide whether a
 * lookup can skip the chain; membership and reference counts are exact.
 *
 * When the number of live chunks would exceed the capacity, counters and chains are rebuilt with a larger capacity from
 * the ids in memory, so the false positive rate never exceeds its target.
 */
export class LdmFilter {
  readonly #entries: EntryTable;
  readonly #dead: DeadChains;
  /** The id of the current lookup or insertion. */
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);
  #live: LiveChunks;
  #liveCount: number;
  #missingCount: number;

  /** @param parts - a saved filter; callers use `LdmFilter.restore`. */
  constructor(plan: FilterPlan, parts?: FilterParts) {
    this.#entries =
      parts === undefined
        ? new EntryTable()
        : new EntryTable(wholePages(parts.pages), parts.liveCount + parts.deadCount);
    this.#live = new LiveChunks(plan, this.#entries, parts);
    this.#dead = new DeadChains(this.#entries, parts && { heads: parts.deadHeads, count: parts.deadCount });
    this.#liveCount = parts?.liveCount ?? 0;
    this.#missingCount = parts?.missingCount ?? 0;
  }

  /**
   * Restores the filter that `parts()` described. It adopts counters, dead heads and pages without verifying them, so
   * the caller must have verified that they are unchanged. It does not copy them either (except for a short last page),
   * and joins chains in the pages.
   */
  static restore(parts: FilterParts): LdmFilter {
    return new LdmFilter(parts.plan, parts);
  }

  /**
   * Returns the contents of the filter for saving, with the entries sorted by chain. Pages are generated on demand;
   * each is valid only until the next one is requested, and the filter must not change during the iteration.
   */
  parts(): FilterParts {
    return arrangeEntries({
      entries: this.#entries,
      live: this.#live,
      liveCount: this.#liveCount,
      dead: this.#dead,
      missingCount: this.#missingCount,
    });
  }

  /** The current plan: capacity and positions grow with the filter; hashes and target rate stay constant. */
  get plan(): FilterPlan {
    return this.#live.plan;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  get deadCount(): number {
    return this.#dead.count;
  }

  /** Number of live chunks whose location is unknown. */
  get missingCount(): number {
    return this.#missingCount;
  }

  /** Number of saturated counters, which keep their maximum until `rebuildCounters`. */
  get saturatedCount(): number {
    return this.#live.counters.saturatedCount;
  }

  get memoryBytes(): number {
    const headBytes = this.#live.chains.heads.byteLength + this.#dead.heads.byteLength;
    return this.#entries.memoryBytes + this.#live.counters.bytes.byteLength + headBytes;
  }

  /** Returns the entry of a known chunk, live or dead, or NO_ENTRY. `visited` gets the live ones that were compared. */
  find(ids: Uint8Array, offset: number, visited?: number[]): number {
    readIdWords(ids, offset, this.#id);
    let entry = this.#live.find(this.#id, visited);
    if (entry === NIL) entry = this.#dead.find(this.#id);
    return entry === NIL ? NO_ENTRY : entry;
  }

  /** The answer of the counters alone: false is certain; true may be a false positive at the rate of the filter. */
  mayBeLive(ids: Uint8Array, offset: number): boolean {
    readIdWords(ids, offset, this.#id);
    return this.#live.mayContain(this.#id);
  }

  /** The counters at the m positions, which callers must not change. They are replaced when the filter grows. */
  get counters(): CounterArray {
    return this.#live.counters;
  }

  /** Calls `visit` with the length of each chain of live chunks that look-ups walk. */
  forEachChainLength(visit: (length: number) => void): void {
    this.#live.chains.forEachLength(visit);
  }

  /** Adds an unknown chunk without references (dead) and returns its entry. */
  insert(ids: Uint8Array, offset: number, location: ChunkLocation): number {
    readIdWords(ids, offset, this.#id);
    const entry = this.#entries.allocate(this.#id);
    this.#entries.writeLocation(entry, location);
    this.#dead.push(entry);
    return entry;
  }

  /** Adds a reference; the first one makes the chunk live. Returns the new count, which saturates at 2^32 - 1. */
  retain(entry: number): number {
    const refs = this.refs(entry);
    if (refs === REFS_MAX) return refs;
    if (refs === 0) this.#bringToLife(entry);
    this.#entries.set(entry, REFS, refs + 1);
    return refs + 1;
  }

  /** Removes a reference; without one, the chunk is dead. Returns the new count. A saturated count never changes. */
  release(entry: number): number {
    const refs = this.refs(entry);
    assert(refs > 0, 'cannot release a chunk without references');
    if (refs === REFS_MAX) return refs;
    this.#entries.set(entry, REFS, refs - 1);
    if (refs === 1) this.#layToRest(entry);
    return refs - 1;
  }

  refs(entry: number): number {
    return this.#entries.get(entry, REFS);
  }

  /** Returns the location of a chunk. Fills `target` if given, to avoid an allocation in loops. */
  location(entry: number, target?: ChunkLocation): ChunkLocation {
    const result = target ?? { packIndex: 0, blockOffset: 0, offsetInBlock: 0, lengthBytes: 0, storedBytes: 0 };
    this.#entries.readLocation(entry, result);
    return result;
  }

  relocate(entry: number, location: ChunkLocation): void {
    if (this.refs(entry) > 0) {
      this.#missingCount += Number(location.packIndex === NO_PACK) - Number(!this.hasLocation(entry));
    }
    this.#entries.writeLocation(entry, location);
  }

  hasLocation(entry: number): boolean {
    return this.packIndexOf(entry) !== NO_PACK;
  }

  packIndexOf(entry: number): number {
    return this.#entries.get(entry, PACK);
  }

  lengthOf(entry: number): number {
    return this.#entries.get(entry, LENGTH);
  }

  storedBytesOf(entry: number): number {
    return this.#entries.get(entry, STORED);
  }

  copyId(entry: number, target: Uint8Array, offset: number): void {
    this.#entries.copyId(entry, target, offset);
  }

  /** Removes a dead entry. Its number will be reused. */
  forget(entry: number): void {
    assert(this.refs(entry) === 0, 'cannot forget a live chunk');
    this.#dead.remove(entry);
    this.#entries.free(entry);
  }

  /** Visits every known chunk, in memory order. The visitor may retain, release and forget the visited entry. */
  forEachEntry(visit: (entry: number, isLive: boolean) => void): void {
    this.#entries.forEach((entry) => visit(entry, this.refs(entry) > 0));
  }

  /** Like `forEachEntry`, but passes the words of each entry, from `page[base]` on, which must not be changed. */
  forEachEntryWords(visit: (page: Uint32Array, base: number) => void): void {
    this.#entries.forEachWords(visit);
  }

  /** Visits the live chunks sorted by link position. The visitor must not change the filter. */
  forEachLiveInChainOrder(visit: (entry: number, link: number) => void): void {
    this.#live.chains.forEachInOrder(visit);
  }

  /** Reserves capacity for `liveCount` chunks at once instead of growing step by step. Never shrinks. */
  reserve(liveCount: number): void {
    if (liveCount > this.plan.capacity) this.#live = LiveChunks.layOut(growPlan(this.plan, liveCount), this.#entries);
  }

  /** Recounts every live chunk, which corrects saturated counters. */
  rebuildCounters(): void {
    this.#live = LiveChunks.layOut(this.plan, this.#entries);
  }

  statistics(): FilterStatistics {
    return collectStatistics(this, this.#live.counters);
  }

  #bringToLife(entry: number): void {
    if (this.#liveCount === this.plan.capacity) this.#grow();
    this.#dead.remove(entry);
    this.#live.add(entry);
    this.#liveCount++;
    if (!this.hasLocation(entry)) this.#missingCount++;
  }

  #layToRest(entry: number): void {
    this.#live.remove(entry);
    this.#dead.push(entry);
    this.#liveCount--;
    if (!this.hasLocation(entry)) this.#missingCount--;
  }

  /** A fold inserts all chunks of a segment before it retains them, so reserving for all entries grows only once. */
  #grow(): void {
    this.reserve(Math.max(Math.ceil(this.plan.capacity * GROWTH_FACTOR), this.#entries.count));
  }
}
