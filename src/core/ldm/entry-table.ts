import assert from 'node:assert/strict';
import { ID_WORDS, hasIdAt, writeIdWords } from './positions.ts';

/** Pack index of a missing chunk: it is referenced, but its location is unknown. */
export const NO_PACK = 0xffff_ffff;

export interface ChunkLocation {
  /** Index into the pack table, or NO_PACK. */
  packIndex: number;
  blockOffset: number;
  offsetInBlock: number;
  lengthBytes: number;
  /** The chunk's share of its compressed block. */
  storedBytes: number;
}

/** An entry has twelve 32-bit words: words 0 to 4 hold the id, and the words below follow. */
export const ENTRY_WORDS = 12;
export const PACK = 5;
export const BLOCK_OFFSET = 6;
export const OFFSET_IN_BLOCK = 7;
export const LENGTH = 8;
export const STORED = 9;
export const REFS = 10;
export const NEXT = 11;

/** End of a chain; no entry has this number. */
export const NIL = 0xffff_ffff;
/** Marks a free slot in its length word. No chunk is this long. */
const FREE_LENGTH = 0xffff_ffff;

/**
 * A page has 192 KiB. Pages of 768 KiB, which small repositories never fill, are zeroed and collected as garbage all the
 * same: tests of many operations in one process took a quarter more processor time. With two million chunks, no
 * difference was measured.
 */
const PAGE_BITS = 12;
/** Entries are stored in pages, so that a growing table never copies existing entries. */
export const PAGE_ENTRIES: number = 2 ** PAGE_BITS;
export const PAGE_WORDS: number = PAGE_ENTRIES * ENTRY_WORDS;
const PAGE_MASK = PAGE_ENTRIES - 1;

/** All known chunks, 48 bytes each in typed arrays. Slots of removed entries are reused. */
export class EntryTable {
  readonly pages: Uint32Array[];
  #slotCount: number;
  #freeHead = NIL;
  #freeCount = 0;

  /**
   * @param pages - full-sized pages (including the last) that hold `entryCount` entries from the start, without gaps.
   */
  constructor(pages: Uint32Array[] = [], entryCount = 0) {
    assert(pages.every((page) => page.length === PAGE_WORDS));
    assert(entryCount <= pages.length * PAGE_ENTRIES);
    this.pages = pages;
    this.#slotCount = entryCount;
  }

  /** Number of entries in use. */
  get count(): number {
    return this.#slotCount - this.#freeCount;
  }

  get memoryBytes(): number {
    return this.pages.length * PAGE_WORDS * 4;
  }

  /** The page of an entry; the first word of the entry is at `baseOf(entry)`. */
  pageOf(entry: number): Uint32Array {
    return this.pages[entry >>> PAGE_BITS]!;
  }

  get(entry: number, field: number): number {
    return this.pages[entry >>> PAGE_BITS]![(entry & PAGE_MASK) * ENTRY_WORDS + field]!;
  }

  set(entry: number, field: number, value: number): void {
    this.pages[entry >>> PAGE_BITS]![(entry & PAGE_MASK) * ENTRY_WORDS + field] = value;
  }

  hasId(entry: number, id: Uint32Array): boolean {
    return hasIdAt(this.pages[entry >>> PAGE_BITS]!, (entry & PAGE_MASK) * ENTRY_WORDS, id);
  }

  /** Whether the id of `entry` sorts before the id of `other`. The order is arbitrary but stable. */
  hasIdBefore(entry: number, other: number): boolean {
    for (let word = 0; word < ID_WORDS; word++) {
      const difference = this.get(entry, word) - this.get(other, word);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  copyId(entry: number, target: Uint8Array, offset: number): void {
    writeIdWords(this.pageOf(entry), baseOf(entry), target, offset);
  }

  readLocation(entry: number, target: ChunkLocation): void {
    const page = this.pageOf(entry);
    const base = baseOf(entry);
    target.packIndex = page[base + PACK]!;
    target.blockOffset = page[base + BLOCK_OFFSET]!;
    target.offsetInBlock = page[base + OFFSET_IN_BLOCK]!;
    target.lengthBytes = page[base + LENGTH]!;
    target.storedBytes = page[base + STORED]!;
  }

  writeLocation(entry: number, location: ChunkLocation): void {
    assert(location.lengthBytes < FREE_LENGTH);
    const page = this.pageOf(entry);
    const base = baseOf(entry);
    page[base + PACK] = location.packIndex;
    page[base + BLOCK_OFFSET] = location.blockOffset;
    page[base + OFFSET_IN_BLOCK] = location.offsetInBlock;
    page[base + LENGTH] = location.lengthBytes;
    page[base + STORED] = location.storedBytes;
  }

  /** Allocates a slot and writes the id; all other words are 0. */
  allocate(id: Uint32Array): number {
    const entry = this.#takeSlot();
    const page = this.pageOf(entry);
    const base = baseOf(entry);
    for (let word = 0; word < ID_WORDS; word++) page[base + word] = id[word]!;
    page.fill(0, base + ID_WORDS, base + ENTRY_WORDS);
    return entry;
  }

  free(entry: number): void {
    assert(!this.isFree(entry));
    this.set(entry, LENGTH, FREE_LENGTH);
    this.set(entry, NEXT, this.#freeHead);
    this.#freeHead = entry;
    this.#freeCount++;
  }

  isFree(entry: number): boolean {
    return this.get(entry, LENGTH) === FREE_LENGTH;
  }

  /**
   * Visits every entry in use, in memory order. The visitor may change, free and add entries; it may not see added
   * ones.
   */
  forEach(visit: (entry: number) => void): void {
    for (let entry = 0; entry < this.#slotCount; entry++) {
      if (!this.isFree(entry)) visit(entry);
    }
  }

  /** Visits the words of every entry in use, which start at `page[base]`: for loops over millions of entries. */
  forEachWords(visit: (page: Uint32Array, base: number) => void): void {
    for (let entry = 0; entry < this.#slotCount; entry++) {
      const page = this.pageOf(entry);
      const base = baseOf(entry);
      if (page[base + LENGTH] !== FREE_LENGTH) visit(page, base);
    }
  }

  /**
   * Visits every referenced entry and passes its words, which start at `page[base]`: for loops over millions of
   * entries.
   */
  forEachReferenced(visit: (entry: number, page: Uint32Array, base: number) => void): void {
    for (let entry = 0; entry < this.#slotCount;) {
      const page = this.pageOf(entry);
      const end = Math.min(entry + PAGE_ENTRIES, this.#slotCount);
      for (let base = 0; entry < end; entry++, base += ENTRY_WORDS) {
        if (page[base + REFS] !== 0) visit(entry, page, base);
      }
    }
  }

  #takeSlot(): number {
    const reused = this.#freeHead;
    if (reused !== NIL) {
      this.#freeHead = this.get(reused, NEXT);
      this.#freeCount--;
      return reused;
    }
    if (this.#slotCount === this.pages.length * PAGE_ENTRIES) this.pages.push(new Uint32Array(PAGE_WORDS));
    return this.#slotCount++;
  }
}

/** Index of the first word of an entry in its page. */
export function baseOf(entry: number): number {
  return (entry & PAGE_MASK) * ENTRY_WORDS;
}

/** Extends saved pages to full size; the last one may have been saved short. */
export function wholePages(pages: Iterable<Uint32Array>): Uint32Array[] {
  return Array.from(pages, (page) => {
    if (page.length === PAGE_WORDS) return page;
    const whole = new Uint32Array(PAGE_WORDS);
    whole.set(page);
    return whole;
  });
}
