import { ID_WORDS, readIdWords, writeIdWords } from '../../core/ldm/positions.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';

/** The chunks of a file in the source, by their numbers in its filter. */
export type Content = readonly number[];

/** A place in a content: the index of a chunk, and the number of its bytes before the place. */
export interface Place {
  readonly index: number;
  readonly offset: number;
}

/** A chunk of the destination: the bytes of a content from a place to another. */
export interface Cut {
  readonly start: Place;
  readonly end: Place;
  /** Whether the cut is where it is because the content ends there. Another content with these chunks goes on. */
  readonly isLast: boolean;
}

/** A record has ten 32-bit words. The first ones are the id. */
const FIRST = 5;
const COUNT = 6;
const START = 7;
const END = 8;
const NEXT = 9;
const RECORD_WORDS = 10;
/** Set in the word COUNT if the content ends there. */
const LAST = 0x8000_0000;

const PAGE_BITS = 14;
const PAGE_RECORDS = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_RECORDS - 1;
const HEADS_BITS_MIN = 10;
const NIL = 0xffff_ffff;

/**
 * Where files were cut for the destination, so that equal parts of files are read and cut once, whatever files and
 * snapshots they are in. Where a chunk of the destination ends depends only on its own bytes, so it is found by the
 * chunks of the source that it begins and ends in and by those between. Takes 44 bytes for each chunk of the
 * destination, and 4 for each chunk of the source that it has bytes of.
 */
export class CutMemo {
  readonly #lengthOf: (entry: number) => number;
  readonly #maxSizeBytes: number;
  readonly #pages: Uint32Array[] = [];
  /** The chunks of the source of all records, one record after the other. */
  readonly #chunks = new NumberList();
  /** The chunks of the source in any record. */
  readonly #seen = new EntrySet();
  readonly #id = new Uint32Array(ID_WORDS);
  #heads = new Uint32Array(2 ** HEADS_BITS_MIN).fill(NIL);
  #shift = 32 - HEADS_BITS_MIN;
  #count = 0;

  /** `lengthOf`: of a chunk of the source. `maxSizeBytes`: of a chunk of the destination. */
  constructor(lengthOf: (entry: number) => number, maxSizeBytes: number) {
    this.#lengthOf = lengthOf;
    this.#maxSizeBytes = maxSizeBytes;
  }

  /** Whether some chunk of the destination has bytes of this one. */
  hasSeen(entry: number): boolean {
    return this.#seen.has(entry);
  }

  /** Returns the number of the chunk that begins at a place, or undefined if it is not known. */
  find(content: Content, { index, offset }: Place): number | undefined {
    if (!this.#seen.has(content[index]!)) return undefined;
    let hash = hashOfStart(offset);
    let beforeBytes = -offset;
    for (let end = index + 1; end <= content.length && beforeBytes < this.#maxSizeBytes; end += 1) {
      const entry = content[end - 1]!;
      hash = mix(hash, entry);
      const record = this.#findRecord(hash, content, index, end, offset);
      if (record !== NIL) return record;
      beforeBytes += this.#lengthOf(entry);
    }
    return undefined;
  }

  /** The place after a chunk of the destination that begins in the chunk `index` of a content. */
  endOf(record: number, content: Content, index: number): Place {
    const last = index + (this.#get(record, COUNT) & ~LAST) - 1;
    const endOffset = this.#get(record, END);
    const isWhole = endOffset === this.#lengthOf(content[last]!);
    return isWhole ? { index: last + 1, offset: 0 } : { index: last, offset: endOffset };
  }

  copyId(record: number, target: Uint8Array, offset: number): void {
    writeIdWords(this.#pages[record >>> PAGE_BITS]!, (record & PAGE_MASK) * RECORD_WORDS, target, offset);
  }

  /** Records a chunk of the destination, unless it is known. */
  add(content: Content, { start, end, isLast }: Cut, id: Uint8Array): void {
    const endIndex = end.offset > 0 ? end.index + 1 : end.index;
    let hash = hashOfStart(start.offset);
    for (let index = start.index; index < endIndex; index += 1) hash = mix(hash, content[index]!);
    if (this.#findRecord(hash, content, start.index, endIndex, start.offset) !== NIL) return;
    const record = this.#allocate();
    const page = this.#pages[record >>> PAGE_BITS]!;
    const base = (record & PAGE_MASK) * RECORD_WORDS;
    readIdWords(id, 0, this.#id);
    page.set(this.#id, base);
    page[base + FIRST] = this.#chunks.length;
    page[base + COUNT] = isLast ? (endIndex - start.index) | LAST : endIndex - start.index;
    page[base + START] = start.offset;
    page[base + END] = end.offset > 0 ? end.offset : this.#lengthOf(content[endIndex - 1]!);
    this.#link(record, hash);
    for (let index = start.index; index < endIndex; index += 1) {
      this.#chunks.push(content[index]!);
      this.#seen.add(content[index]!);
    }
  }

  /** Returns the record of the part of a content from a place to somewhere in the chunk before `end`, or NIL. */
  #findRecord(hash: number, content: Content, index: number, end: number, offset: number): number {
    let record = this.#heads[hash >>> this.#shift]!;
    while (record !== NIL && !this.#isAt(record, content, index, end, offset)) record = this.#get(record, NEXT);
    return record;
  }

  #isAt(record: number, content: Content, index: number, end: number, offset: number): boolean {
    const word = this.#get(record, COUNT);
    if ((word & ~LAST) !== end - index || this.#get(record, START) !== offset) return false;
    if ((word & LAST) !== 0 && end !== content.length) return false;
    const first = this.#get(record, FIRST);
    for (let at = index; at < end; at += 1) if (this.#chunks.at(first + at - index) !== content[at]) return false;
    return true;
  }

  #get(record: number, word: number): number {
    return this.#pages[record >>> PAGE_BITS]![(record & PAGE_MASK) * RECORD_WORDS + word]!;
  }

  #allocate(): number {
    if (this.#count === this.#heads.length) this.#growHeads();
    const record = this.#count++;
    if (record === this.#pages.length * PAGE_RECORDS) this.#pages.push(new Uint32Array(PAGE_RECORDS * RECORD_WORDS));
    return record;
  }

  #link(record: number, hash: number): void {
    const head = hash >>> this.#shift;
    this.#pages[record >>> PAGE_BITS]![(record & PAGE_MASK) * RECORD_WORDS + NEXT] = this.#heads[head]!;
    this.#heads[head] = record;
  }

  #growHeads(): void {
    this.#heads = new Uint32Array(2 * this.#heads.length).fill(NIL);
    this.#shift -= 1;
    for (let record = 0; record < this.#count; record += 1) {
      let hash = hashOfStart(this.#get(record, START));
      const first = this.#get(record, FIRST);
      const end = first + (this.#get(record, COUNT) & ~LAST);
      for (let index = first; index < end; index += 1) hash = mix(hash, this.#chunks.at(index));
      this.#link(record, hash);
    }
  }
}

function hashOfStart(offset: number): number {
  return mix(0, offset);
}

/** The upper bits select the head of a chain. */
function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value ^ (value >>> 15), 0x9e37_79b1);
  return Math.imul(mixed ^ (mixed >>> 13), 0x85eb_ca6b) >>> 0;
}

/** Numbers of 32 bits, in pages, so that a growing list never copies them. */
class NumberList {
  readonly #pages: Uint32Array[] = [];
  length = 0;

  at(index: number): number {
    return this.#pages[index >>> PAGE_BITS]![index & PAGE_MASK]!;
  }

  push(value: number): void {
    if (this.length === this.#pages.length * PAGE_RECORDS) this.#pages.push(new Uint32Array(PAGE_RECORDS));
    this.#pages[this.length >>> PAGE_BITS]![this.length & PAGE_MASK] = value;
    this.length += 1;
  }
}
