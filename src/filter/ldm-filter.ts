import assert from 'node:assert/strict';
import { DeadChains } from './chains-dead.ts';
import { NO_PACK, type ChunkLocation } from './chunk-location.ts';
import { EntryTable, LENGTH, NIL, PACK, REFS, STORED, wholePages } from './entry-table.ts';
import { arrangeEntries, type FilterParts } from './filter-parts.ts';
import { collectStatistics, type FilterStatistics } from './filter-statistics.ts';
import { growPlan, type FilterPlan } from './formulas.ts';
import { LiveChunks } from './live-chunks.ts';
import { ID_WORDS, readIdWords } from './positions.ts';

export { NO_PACK, type ChunkLocation } from './chunk-location.ts';

/** No known chunk has this id. */
export const NO_ENTRY = -1;

const REFS_MAX = 0xffff_ffff;
/** More would cost memory, less would cost time. With 7 hashes, counters and heads are 9 to 14 bytes a chunk. */
export const GROWTH_FACTOR = 1.5;

/**
 * The LDM filter: which chunks are known, where each is, and how many references it has.
 *
 * Every known chunk has one entry in a table of typed arrays, and an entry keeps its number for as long as it is known.
 * A chunk with references is live: counted at its k positions, and on the chain at its link position. A known chunk
 * without references is dead: out of the counters, on a chain of the dead. The counters answer one question only, "may
 * I skip the chain?"; what is known, and how often it is referenced, is exact.
 *
 * When the live chunks would pass the capacity, counters and chains are laid out anew for a larger one from the ids in
 * memory, so the false positive rate never passes its target.
 */
export class LdmFilter {
  readonly #entries: EntryTable;
  readonly #dead: DeadChains;
  /** The id that is being looked up or inserted. */
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);
  #live: LiveChunks;
  #liveCount: number;
  #missingCount: number;

  /** @param parts - a filter that was saved; use `LdmFilter.restore`. */
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
   * The filter that `parts()` described. Takes the arrays over as they are: nothing is parsed, copied (but for a last
   * page that is short) or checked, so the caller has verified that they are what was saved.
   */
  static restore(parts: FilterParts): LdmFilter {
    return new LdmFilter(parts.plan, parts);
  }

  /**
   * What a saved filter consists of, with the entries in the order of their chains. The pages are made one at a time
   * while they are read; each is valid until the next is asked for, and the filter must not change meanwhile.
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

  /** The present plan: capacity and positions grow with the filter, hashes and target stay. */
  get plan(): FilterPlan {
    return this.#live.plan;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  get deadCount(): number {
    return this.#dead.count;
  }

  /** Live chunks whose location is unknown. */
  get missingCount(): number {
    return this.#missingCount;
  }

  /** Counters that lost count and will stay at their maximum until `rebuildCounters`. */
  get saturatedCount(): number {
    return this.#live.counters.saturatedCount;
  }

  get memoryBytes(): number {
    const headBytes = this.#live.chains.heads.byteLength + this.#dead.heads.byteLength;
    return this.#entries.memoryBytes + this.#live.counters.bytes.byteLength + headBytes;
  }

  /** The entry of a known chunk, live or dead, or NO_ENTRY. */
  find(ids: Uint8Array, offset: number): number {
    readIdWords(ids, offset, this.#id);
    let entry = this.#live.find(this.#id);
    if (entry === NIL) entry = this.#dead.find(this.#id);
    return entry === NIL ? NO_ENTRY : entry;
  }

  /** What the counters alone say: false is certain, true is wrong for an absent chunk as often as the FPR says. */
  mayBeLive(ids: Uint8Array, offset: number): boolean {
    readIdWords(ids, offset, this.#id);
    return this.#live.mayContain(this.#id);
  }

  /** Makes a chunk known, without references (dead). It must not be known yet. Returns its entry. */
  insert(ids: Uint8Array, offset: number, location: ChunkLocation): number {
    readIdWords(ids, offset, this.#id);
    const entry = this.#entries.allocate(this.#id);
    this.#entries.writeLocation(entry, location);
    this.#dead.push(entry);
    return entry;
  }

  /** One reference more; the first one makes the chunk live. Returns the new count, which sticks at 2^32 - 1. */
  retain(entry: number): number {
    const refs = this.refs(entry);
    if (refs === REFS_MAX) return refs;
    if (refs === 0) this.#bringToLife(entry);
    this.#entries.set(entry, REFS, refs + 1);
    return refs + 1;
  }

  /** One reference less; the last one makes the chunk dead. Returns the new count. A count that sticks stays. */
  release(entry: number): number {
    const refs = this.refs(entry);
    assert(refs > 0, 'a chunk without references is released');
    if (refs === REFS_MAX) return refs;
    this.#entries.set(entry, REFS, refs - 1);
    if (refs === 1) this.#layToRest(entry);
    return refs - 1;
  }

  refs(entry: number): number {
    return this.#entries.get(entry, REFS);
  }

  /** Where the chunk is; fills `target` if given, so that a loop need not allocate. */
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

  /** Removes a dead entry altogether. Its number will be used again. */
  forget(entry: number): void {
    assert(this.refs(entry) === 0, 'a live chunk is forgotten');
    this.#dead.remove(entry);
    this.#entries.free(entry);
  }

  /** Visits every known chunk, in memory order. The visitor may retain, release and forget the entry it is given. */
  forEachEntry(visit: (entry: number, isLive: boolean) => void): void {
    this.#entries.forEach((entry) => visit(entry, this.refs(entry) > 0));
  }

  /** As `forEachEntry`, with the words of the entry at `page[base]` and on, which the visitor must not change. */
  forEachEntryWords(visit: (page: Uint32Array, base: number) => void): void {
    this.#entries.forEachWords(visit);
  }

  /** Visits the live chunks in the order of their link positions. The visitor must not change the filter. */
  forEachLiveInChainOrder(visit: (entry: number, link: number) => void): void {
    this.#live.chains.forEachInOrder(this.plan.hashes, visit);
  }

  /** Which chain the chunks of a link position are on: neighbouring positions share one. */
  headOf(link: number): number {
    return this.#live.chains.headOf(link);
  }

  /** Makes room for so many live chunks at once, which saves growing step by step. Never shrinks. */
  reserve(liveCount: number): void {
    if (liveCount > this.plan.capacity) this.#live = LiveChunks.layOut(growPlan(this.plan, liveCount), this.#entries);
  }

  /** Counts every live chunk anew, which sets saturated counters right. */
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

  /** A fold makes all chunks of a segment known before it retains them: then one step makes room for all. */
  #grow(): void {
    this.reserve(Math.max(Math.ceil(this.plan.capacity * GROWTH_FACTOR), this.#entries.count));
  }
}
