import { HashList } from './hash-list.ts';

const FIRST_SLOTS = 512;

/** The distinct keys that an `IndexedFilter` will be built of, with their locations, in an open hash table. */
export class PendingKeys {
  readonly hashes: HashList = new HashList();
  /** Location of each key, in the order of `hashes`; longer than `hashes`. */
  locations: Uint32Array = new Uint32Array(FIRST_SLOTS / 2);
  /** 1 + the index of a key, 0 for an empty slot. A power of two, of which at most half is taken. */
  #slots: Uint32Array = new Uint32Array(FIRST_SLOTS);

  /** Adds a key, or replaces its location. */
  put(hash: Uint32Array, location: number): void {
    const slot = this.#find(hash);
    if (this.#slots[slot] === 0) {
      this.hashes.push(hash);
      this.#slots[slot] = this.hashes.count;
    }
    this.locations[this.#slots[slot]! - 1] = location;
    if (this.hashes.count === this.locations.length) this.#grow();
  }

  #find(hash: Uint32Array): number {
    const mask = this.#slots.length - 1;
    let slot = hash[0]! & mask;
    for (;;) {
      const entry = this.#slots[slot]!;
      if (entry === 0 || this.hashes.has(entry - 1, hash)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const locations = new Uint32Array(this.locations.length * 2);
    locations.set(this.locations);
    this.locations = locations;
    const slots = new Uint32Array(this.#slots.length * 2);
    for (let index = 0; index < this.hashes.count; index++) {
      let slot = this.hashes.words[index * 4]! & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = index + 1;
    }
    this.#slots = slots;
  }
}
