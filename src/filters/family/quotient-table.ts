import { BUCKET_SLOTS, CuckooTable } from './cuckoo-table.ts';

const OCCUPIED = 1;
const CONTINUATION = 2;
const SHIFTED = 4;
const FLAG_BITS = 3;
const FLAGS = OCCUPIED | CONTINUATION | SHIFTED;

/**
 * A hash table of values of up to 28 bits, of which none is 0. Each value has a home, the slot that its hash selects.
 * The values of one home are a run of neighbouring slots; runs are in the order of their homes, at or after them, and the
 * table is a ring. Three bits of each slot tell them apart: whether the slot is the home of a run (`occupied`), and
 * whether the value in it continues a run and is not at home (`continuation`, `shifted`).
 *
 * Source: Bender et al., "Don't Thrash: How to Cache Your Hash on Flash" (VLDB 2012), for the quotient filter.
 */
export class QuotientTable {
  /** Number of slots, a multiple of 4; at least one is always empty. */
  readonly homes: number;
  readonly #slots: CuckooTable;

  /** @param words - a saved table; if omitted, all slots are empty. */
  constructor(homes: number, valueBits: number, words?: Uint32Array) {
    this.homes = homes;
    this.#slots = new CuckooTable(homes / BUCKET_SLOTS, valueBits + FLAG_BITS, words);
  }

  static wordCount(homes: number, valueBits: number): number {
    return CuckooTable.wordCount(homes / BUCKET_SLOTS, valueBits + FLAG_BITS);
  }

  get words(): Uint32Array {
    return this.#slots.words;
  }

  /** The first slot of the run of a home; -1 if it has none. The values of the run are there and in `next` of it. */
  runOf(home: number): number {
    return (this.#slots.get(home) & OCCUPIED) === 0 ? -1 : this.#startOf(home);
  }

  /** The next slot of the same run; -1 after the last one. */
  next(slot: number): number {
    const after = this.#after(slot);
    return (this.#slots.get(after) & CONTINUATION) === 0 ? -1 : after;
  }

  valueAt(slot: number): number {
    return this.#slots.get(slot) >>> FLAG_BITS;
  }

  /** Inserts a value at the end of the run of its home. There must be two empty slots. */
  insert(home: number, value: number): void {
    const slots = this.#slots;
    const atHome = slots.get(home);
    if (atHome === 0) {
      slots.set(home, (value << FLAG_BITS) | OCCUPIED);
      return;
    }
    slots.set(home, atHome | OCCUPIED);
    let at = this.#startOf(home);
    let continuation = 0;
    if ((atHome & OCCUPIED) !== 0) {
      continuation = CONTINUATION;
      do at = this.#after(at);
      while ((slots.get(at) & CONTINUATION) !== 0);
    }
    // Everything from here to the next empty slot moves by one. Only the `occupied` bits stay.
    let moving = (value << FLAG_BITS) | continuation | (at === home ? 0 : SHIFTED);
    while (moving !== 0) {
      const old = slots.get(at);
      slots.set(at, moving | (old & OCCUPIED));
      moving = old >>> FLAG_BITS === 0 ? 0 : (old & ~OCCUPIED) | SHIFTED;
      at = this.#after(at);
    }
  }

  /** Removes the value in a slot of the run of a home. The values after it move back, unless they are at home. */
  remove(home: number, slot: number): void {
    const slots = this.#slots;
    const isFirst = (slots.get(slot) & CONTINUATION) === 0;
    if (isFirst && this.next(slot) < 0) slots.set(home, slots.get(home) & ~OCCUPIED);
    let at = slot;
    let homeOfRun = home;
    for (;;) {
      const after = this.#after(at);
      const moving = slots.get(after);
      if ((moving & SHIFTED) === 0) break;
      let flags = CONTINUATION | SHIFTED;
      // The value after the first one of a run is now the first.
      const isFollower = isFirst && at === slot && (moving & CONTINUATION) !== 0;
      if ((moving & CONTINUATION) === 0) homeOfRun = this.#occupiedAfter(homeOfRun);
      if ((moving & CONTINUATION) === 0 || isFollower) flags = at === homeOfRun ? 0 : SHIFTED;
      slots.set(at, (moving & ~FLAGS) | flags | (slots.get(at) & OCCUPIED));
      at = after;
    }
    slots.set(at, slots.get(at) & OCCUPIED);
  }

  /** Visits all values, run after run. */
  forEach(visit: (home: number, value: number) => void): void {
    const slots = this.#slots;
    let start = 0;
    while (slots.get(start) !== 0) start++;
    let home = start;
    for (let slot = this.#after(start); slot !== start; slot = this.#after(slot)) {
      const content = slots.get(slot);
      if (content >>> FLAG_BITS === 0) continue;
      if ((content & SHIFTED) === 0) home = slot;
      else if ((content & CONTINUATION) === 0) home = this.#occupiedAfter(home);
      visit(home, content >>> FLAG_BITS);
    }
  }

  /** Whether the bits of all slots fit together. Otherwise, the other methods could run for ever. */
  isConsistent(): boolean {
    const { homes } = this;
    let start = 0;
    while (start < homes && this.#slots.get(start) !== 0) start++;
    if (start === homes) return false;
    const contentAt = (index: number): number => this.#slots.get((start + index) % homes);
    // Homes up to this one have their runs.
    let home = 0;
    for (let index = 0; index < homes; index++) {
      const content = contentAt(index);
      const isEmpty = content >>> FLAG_BITS === 0;
      if (isEmpty && content !== 0) return false;
      if ((content & CONTINUATION) !== 0) {
        if ((content & SHIFTED) === 0 || contentAt(index - 1) === 0) return false;
        continue;
      }
      if (index > 0)
        do home++;
        while (home < index && (contentAt(home) & OCCUPIED) === 0);
      if (isEmpty ? home !== index : home > index || (contentAt(home) & OCCUPIED) === 0) return false;
      if (!isEmpty && (home === index) !== ((content & SHIFTED) === 0)) return false;
    }
    for (home++; home < homes; home++) if ((contentAt(home) & OCCUPIED) !== 0) return false;
    return true;
  }

  #startOf(home: number): number {
    const slots = this.#slots;
    let run = home;
    while ((slots.get(run) & SHIFTED) !== 0) run = this.#before(run);
    let start = run;
    while (run !== home) {
      do start = this.#after(start);
      while ((slots.get(start) & CONTINUATION) !== 0);
      run = this.#occupiedAfter(run);
    }
    return start;
  }

  #occupiedAfter(home: number): number {
    let at = home;
    do at = this.#after(at);
    while ((this.#slots.get(at) & OCCUPIED) === 0);
    return at;
  }

  #after(slot: number): number {
    return slot + 1 === this.homes ? 0 : slot + 1;
  }

  #before(slot: number): number {
    return slot === 0 ? this.homes - 1 : slot - 1;
  }
}
