import { ID_WORDS, hasIdAt, readIdWords } from '../ldm/positions.ts';

/** An entry has seven 32-bit words: words 0 to 4 hold the id, and the words below follow. */
const LENGTH = 5;
const NEXT = 6;
const ENTRY_WORDS = 7;
/** The word of the id that selects the head of its chain. Ids are keyed hashes, so every word is uniform. */
const BUCKET_WORD = 4;

/** Entries are stored in pages, so that a growing table never copies existing entries. */
const PAGE_BITS = 12;
const PAGE_ENTRIES = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_ENTRIES - 1;
const HEADS_BITS_MIN = 10;
const END = 0xffff_ffff;

/**
 * The chunks that a running backup has stored: id and length. The filter state that it opened does not have them. A
 * first backup has millions of them, so they are in typed arrays, 32 to 36 bytes each, on chains with at most one entry
 * on average.
 */
export class PendingChunks {
  readonly #pages: Uint32Array[] = [];
  readonly #id = new Uint32Array(ID_WORDS);
  #heads = new Uint32Array(2 ** HEADS_BITS_MIN).fill(END);
  #shift = 32 - HEADS_BITS_MIN;
  #count = 0;

  /** Returns the length of a chunk, or undefined if it is not pending. */
  lengthOf(ids: Uint8Array, offset: number): number | undefined {
    if (this.#count === 0) return undefined;
    const id = this.#id;
    readIdWords(ids, offset, id);
    for (let entry = this.#heads[id[BUCKET_WORD]! >>> this.#shift]!; entry !== END;) {
      const page = this.#pages[entry >>> PAGE_BITS]!;
      const base = (entry & PAGE_MASK) * ENTRY_WORDS;
      if (hasIdAt(page, base, id)) return page[base + LENGTH]!;
      entry = page[base + NEXT]!;
    }
    return undefined;
  }

  /** Adds a chunk that is not pending. */
  add(id: Uint8Array, lengthBytes: number): void {
    if (this.#count === this.#heads.length) this.#growHeads();
    if (this.#count === this.#pages.length * PAGE_ENTRIES)
      this.#pages.push(new Uint32Array(PAGE_ENTRIES * ENTRY_WORDS));
    const entry = this.#count++;
    const page = this.#pages[entry >>> PAGE_BITS]!;
    const base = (entry & PAGE_MASK) * ENTRY_WORDS;
    readIdWords(id, 0, this.#id);
    page.set(this.#id, base);
    page[base + LENGTH] = lengthBytes;
    this.#link(entry);
  }

  #link(entry: number): void {
    const page = this.#pages[entry >>> PAGE_BITS]!;
    const base = (entry & PAGE_MASK) * ENTRY_WORDS;
    const head = page[base + BUCKET_WORD]! >>> this.#shift;
    page[base + NEXT] = this.#heads[head]!;
    this.#heads[head] = entry;
  }

  #growHeads(): void {
    this.#heads = new Uint32Array(2 * this.#heads.length).fill(END);
    this.#shift -= 1;
    for (let entry = 0; entry < this.#count; entry++) this.#link(entry);
  }
}
