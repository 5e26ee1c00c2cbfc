import { ID_WORDS, readIdWords } from '../../core/ldm/positions.ts';
import { describeChains, type ChainStatistics } from '../../core/ldm/chain-statistics.ts';
import { emptyHeads } from '../../core/ldm/chains.ts';

const PAGE_BITS = 12;
const PAGE_MASK = 2 ** PAGE_BITS - 1;
/** The id, then the number of the next entry in the chain. */
const ENTRY_WORDS = ID_WORDS + 1;
const NIL = 0xffff_ffff;

/** The square array of the DIBF: each cell holds a chain of index values, which number the ids in insertion order. */
export class IndexArray {
  /** Number of rows, and of columns. */
  readonly side: number;
  readonly #heads: Uint32Array;
  readonly #pages: Uint32Array[] = [];
  readonly #id: Uint32Array = new Uint32Array(ID_WORDS);
  #count = 0;

  /** Creates the smallest square with at least `cellsMin` cells. */
  constructor(cellsMin: number) {
    this.side = Math.ceil(Math.sqrt(cellsMin));
    this.#heads = emptyHeads(this.side * this.side);
  }

  get count(): number {
    return this.#count;
  }

  get memoryBytes(): number {
    return this.#heads.byteLength + this.#pages.length * 2 ** PAGE_BITS * ENTRY_WORDS * 4;
  }

  /** Derives row and column from two words of a hash: a 32-bit fraction times the side. */
  cellOf(rowWord: number, columnWord: number): number {
    return Math.floor(rowWord * 2 ** -32 * this.side) * this.side + Math.floor(columnWord * 2 ** -32 * this.side);
  }

  has(cell: number, id: Uint8Array): boolean {
    readIdWords(id, 0, this.#id);
    const wanted = this.#id;
    for (let entry = this.#heads[cell]!; entry !== NIL;) {
      const page = this.#pages[entry >>> PAGE_BITS]!;
      const base = (entry & PAGE_MASK) * ENTRY_WORDS;
      let word = 0;
      while (word < ID_WORDS && page[base + word] === wanted[word]) word++;
      if (word === ID_WORDS) return true;
      entry = page[base + ID_WORDS]!;
    }
    return false;
  }

  push(cell: number, id: Uint8Array): void {
    const entry = this.#count++;
    if ((entry & PAGE_MASK) === 0) this.#pages.push(new Uint32Array(2 ** PAGE_BITS * ENTRY_WORDS));
    const page = this.#pages[entry >>> PAGE_BITS]!;
    const base = (entry & PAGE_MASK) * ENTRY_WORDS;
    readIdWords(id, 0, this.#id);
    page.set(this.#id, base);
    page[base + ID_WORDS] = this.#heads[cell]!;
    this.#heads[cell] = entry;
  }

  chainLength(cell: number): number {
    return this.#lengthOf(this.#heads[cell]!);
  }

  /** Number of cells without a chain. */
  get emptyCells(): number {
    return this.#heads.reduce((count, head) => count + Number(head === NIL), 0);
  }

  chains(): ChainStatistics {
    const histogram = [0];
    for (const head of this.#heads) {
      const length = this.#lengthOf(head);
      histogram[length] = (histogram[length] ?? 0) + 1;
    }
    return describeChains(histogram);
  }

  /** Words of all ids, in the order of their index values. */
  idWords(): Uint32Array {
    const words = new Uint32Array(this.#count * ID_WORDS);
    for (let entry = 0; entry < this.#count; entry++) {
      const base = (entry & PAGE_MASK) * ENTRY_WORDS;
      words.set(this.#pages[entry >>> PAGE_BITS]!.subarray(base, base + ID_WORDS), entry * ID_WORDS);
    }
    return words;
  }

  #lengthOf(head: number): number {
    let length = 0;
    for (let entry = head; entry !== NIL; length++) {
      entry = this.#pages[entry >>> PAGE_BITS]![(entry & PAGE_MASK) * ENTRY_WORDS + ID_WORDS]!;
    }
    return length;
  }
}
