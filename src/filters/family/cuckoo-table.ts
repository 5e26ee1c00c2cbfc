/** b: slots per bucket. With 4, a table can be filled to 95 % (Fan et al. 2014, table 2). */
export const BUCKET_SLOTS = 4;

/**
 * Buckets of four fingerprints of f bits each, without gaps: 4 f bits per bucket, in 32-bit words. 0 marks an empty
 * slot. Offsets count units of 4 bits, which stay below 2^31 with f <= 31 and at most 2^26 buckets.
 */
export class CuckooTable {
  readonly bucketCount: number;
  readonly fingerprintBits: number;
  readonly words: Uint32Array;
  readonly #mask: number;

  /** @param words - a saved table of `CuckooTable.wordCount` words; if omitted, all slots are empty. */
  constructor(bucketCount: number, fingerprintBits: number, words?: Uint32Array) {
    this.bucketCount = bucketCount;
    this.fingerprintBits = fingerprintBits;
    this.words = words ?? new Uint32Array(CuckooTable.wordCount(bucketCount, fingerprintBits));
    this.#mask = 2 ** fingerprintBits - 1;
  }

  /** Includes one extra word, because reading a slot reads two words. */
  static wordCount(bucketCount: number, fingerprintBits: number): number {
    return Math.ceil((bucketCount * fingerprintBits) / 8) + 1;
  }

  get slotCount(): number {
    return this.bucketCount * BUCKET_SLOTS;
  }

  get(slot: number): number {
    const fours = Math.imul(slot >>> 2, this.fingerprintBits);
    const bit = ((fours & 7) << 2) + (slot & 3) * this.fingerprintBits;
    return readBits(this.words, (fours >>> 3) + (bit >>> 5), bit & 31) & this.#mask;
  }

  set(slot: number, fingerprint: number): void {
    const fours = Math.imul(slot >>> 2, this.fingerprintBits);
    const bit = ((fours & 7) << 2) + (slot & 3) * this.fingerprintBits;
    const at = (fours >>> 3) + (bit >>> 5);
    const changed = this.get(slot) ^ fingerprint;
    this.words[at]! ^= changed << (bit & 31);
    this.words[at + 1]! ^= (changed >>> 1) >>> (31 - (bit & 31));
  }

  /** Returns the first slot of the bucket that holds the fingerprint (0: an empty slot), or -1. */
  find(bucket: number, fingerprint: number): number {
    const { words, fingerprintBits } = this;
    const mask = this.#mask;
    const fours = Math.imul(bucket, fingerprintBits);
    const at = fours >>> 3;
    let bit = (fours & 7) << 2;
    for (let slot = 0; slot < BUCKET_SLOTS; slot++) {
      if ((readBits(words, at + (bit >>> 5), bit & 31) & mask) === fingerprint) return bucket * BUCKET_SLOTS + slot;
      bit += fingerprintBits;
    }
    return -1;
  }

  countUsed(): number {
    let count = 0;
    for (let slot = 0; slot < this.slotCount; slot++) if (this.get(slot) !== 0) count++;
    return count;
  }
}

/** Reads 32 bits from a bit of a word. A shift by 32 does nothing in JavaScript, so shift by 1 and by up to 31. */
function readBits(words: Uint32Array, at: number, bit: number): number {
  return (words[at]! >>> bit) | ((words[at + 1]! << 1) << (31 - bit));
}
