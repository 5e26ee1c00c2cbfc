/** Marks a free slot. A key is entry + 1, which fits in 32 bits because a filter has at most 2^32 - 2 entries. */
const FREE = 0;
const SLOTS_MIN = 16;
/** 2^32 divided by the golden ratio: spreads neighbouring entries across the table (Knuth, TAOCP 3, 6.4). */
const SPREAD = 0x9e3779b1;

/**
 * Counts the references that would be released without changing the filter. An open-addressing table in typed arrays
 * uses 16 to 32 bytes for each affected entry and, unlike a Map, is not limited to 2^24 entries.
 */
export class FoldOverlay {
  #keys: Uint32Array = new Uint32Array(SLOTS_MIN);
  #counts: Uint32Array = new Uint32Array(SLOTS_MIN);
  /** A number for each slot, if any was set. */
  #labels: Uint32Array | undefined;
  #used = 0;

  /** Counts one more released reference to `entry`, or with -1 one less, and returns the new count. */
  add(entry: number, step: 1 | -1 = 1): number {
    if (this.#used * 2 >= this.#keys.length) this.#grow();
    const slot = this.#slotOf(entry);
    if (this.#keys[slot] === FREE) {
      this.#keys[slot] = entry + 1;
      this.#used += 1;
    }
    this.#counts[slot]! += step;
    return this.#counts[slot]!;
  }

  /** How many released references to `entry` were counted. */
  countOf(entry: number): number {
    return this.#counts[this.#slotOf(entry)]!;
  }

  /** The label of a counted entry; 0 if it has none. */
  labelOf(entry: number): number {
    return this.#labels?.[this.#slotOf(entry)] ?? 0;
  }

  /** Sets the label of a counted entry. */
  setLabel(entry: number, label: number): void {
    this.#labels ??= new Uint32Array(this.#keys.length);
    this.#labels[this.#slotOf(entry)] = label;
  }

  forEach(visit: (entry: number, count: number, label: number) => void): void {
    for (let slot = 0; slot < this.#keys.length; slot += 1) {
      const key = this.#keys[slot]!;
      if (key !== FREE) visit(key - 1, this.#counts[slot]!, this.#labels?.[slot] ?? 0);
    }
  }

  #slotOf(entry: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let slot = (Math.imul(entry, SPREAD) >>> 7) & mask;
    while (keys[slot] !== FREE && keys[slot] !== entry + 1) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const keys = this.#keys;
    const counts = this.#counts;
    const labels = this.#labels;
    this.#keys = new Uint32Array(keys.length * 2);
    this.#counts = new Uint32Array(keys.length * 2);
    if (labels !== undefined) this.#labels = new Uint32Array(keys.length * 2);
    keys.forEach((key, index) => {
      if (key === FREE) return;
      const slot = this.#slotOf(key - 1);
      this.#keys[slot] = key;
      this.#counts[slot] = counts[index]!;
      if (labels !== undefined) this.#labels![slot] = labels[index]!;
    });
  }
}
