import assert from 'node:assert/strict';
import { NO_ENTRY, NO_PACK, LdmFilter, type ChunkLocation } from '../../../src/core/ldm/ldm-filter.ts';
import { ID_BYTES, randomIds } from './filter-support.ts';

interface KnownChunk {
  entry: number;
  refs: number;
  location: ChunkLocation;
}

/** A filter beside a plain Map that says what must be in it. Chunks are numbers from 0; unknown ones are looked up too. */
export class FilterModel {
  filter: LdmFilter;
  readonly #known = new Map<number, KnownChunk>();
  readonly #ids: Uint8Array;
  readonly chunkCount: number;

  constructor(filter: LdmFilter, chunkCount: number, seed: number) {
    this.filter = filter;
    this.chunkCount = chunkCount;
    this.#ids = randomIds(chunkCount, seed);
  }

  /** Makes the chunk known, or gives it another location. */
  place(chunk: number, location: ChunkLocation): void {
    const known = this.#find(chunk);
    if (known === undefined) {
      const entry = this.filter.insert(this.#ids, chunk * ID_BYTES, location);
      this.#known.set(chunk, { entry, refs: 0, location });
    } else {
      this.filter.relocate(known.entry, location);
      known.location = location;
    }
  }

  retain(chunk: number): void {
    const known = this.#find(chunk);
    if (known !== undefined) assert.equal(this.filter.retain(known.entry), ++known.refs);
  }

  release(chunk: number): void {
    const known = this.#find(chunk);
    if (known === undefined || known.refs === 0) return;
    assert.equal(this.filter.release(known.entry), --known.refs);
  }

  forget(chunk: number): void {
    const known = this.#find(chunk);
    if (known === undefined || known.refs > 0) return;
    this.filter.forget(known.entry);
    this.#known.delete(chunk);
    this.#find(chunk);
  }

  /** Saves and loads. */
  restore(): void {
    const parts = this.filter.parts();
    this.adopt(LdmFilter.restore({ ...parts, pages: Array.from(parts.pages, (page) => page.slice()) }));
  }

  /** Goes on with a filter that has the same chunks; its entries may have other numbers. */
  adopt(filter: LdmFilter): void {
    this.filter = filter;
    for (const [chunk, known] of this.#known) known.entry = filter.find(this.#ids, chunk * ID_BYTES);
  }

  /** A filter of the same plan that only ever had the chunks of the Map. */
  filledAnew(): LdmFilter {
    const filter = new LdmFilter(this.filter.plan);
    for (const [chunk, { refs, location }] of this.#known) {
      const entry = filter.insert(this.#ids, chunk * ID_BYTES, location);
      for (let left = refs; left > 0; left--) filter.retain(entry);
    }
    return filter;
  }

  expectAgreement(): void {
    for (let chunk = 0; chunk < this.chunkCount; chunk++) this.#find(chunk);
    const chunks = [...this.#known.values()];
    const live = chunks.filter(({ refs }) => refs > 0);
    const { filter } = this;
    assert.equal(filter.liveCount, live.length);
    assert.equal(filter.deadCount, chunks.length - live.length);
    assert.equal(filter.missingCount, live.filter(({ location }) => location.packIndex === NO_PACK).length);
    assert(filter.liveCount <= filter.plan.capacity);
    this.#expectVisits(live.length);
  }

  #expectVisits(liveCount: number): void {
    const byEntry = new Map(Array.from(this.#known.values(), (known) => [known.entry, known]));
    this.filter.forEachEntry((entry, isLive) => {
      assert.equal(isLive, byEntry.get(entry)!.refs > 0);
      byEntry.delete(entry);
    });
    assert.equal(byEntry.size, 0);
    const links: number[] = [];
    this.filter.forEachLiveInChainOrder((entry, link) => {
      assert(this.filter.refs(entry) > 0);
      links.push(link);
    });
    assert.equal(links.length, liveCount);
    assert.deepEqual(
      links,
      links.toSorted((a, b) => a - b),
    );
  }

  #find(chunk: number): KnownChunk | undefined {
    const { filter } = this;
    const known = this.#known.get(chunk);
    const entry = filter.find(this.#ids, chunk * ID_BYTES);
    assert.equal(entry, known?.entry ?? NO_ENTRY);
    if (known === undefined) return undefined;
    assert.equal(filter.refs(entry), known.refs);
    assert.deepEqual(filter.location(entry), known.location);
    assert.equal(filter.hasLocation(entry), known.location.packIndex !== NO_PACK);
    const id = new Uint8Array(ID_BYTES);
    filter.copyId(entry, id, 0);
    assert.deepEqual(id, this.#ids.slice(chunk * ID_BYTES, (chunk + 1) * ID_BYTES));
    return known;
  }
}
