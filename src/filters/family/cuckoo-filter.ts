import { FilterFullError } from '../../core/errors.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { type CapacityOptions, checkReachable, checkCapacity, checkRate } from './sizing.ts';
import { BUCKET_SLOTS, CuckooTable } from './cuckoo-table.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { ErasableFilter } from './membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { hexOfHalf, inHexadecimal, type SlotTrace, type TracedSlot } from './trace.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';

/** With fewer bits a fingerprint has too few alternative buckets, and a large table cannot be filled well. */
const FINGERPRINT_BITS_MIN = 8;
const FINGERPRINT_BITS_MAX = 31;
const BUCKETS_MAX = 2 ** 26;
const LOAD_MAX = 0.95;
/**
 * Extra slots, as a multiple of the square root of the capacity: the load that a small table reaches varies by chance.
 */
const SPARE_SLOTS = 4;
const CAPACITY_MAX = 250_000_000;
/** A lookup checks the slots of two buckets. */
const CANDIDATE_SLOTS = 2 * BUCKET_SLOTS;
const RATE_MIN = CANDIDATE_SLOTS / 2 ** FINGERPRINT_BITS_MAX;
const KICKS_MAX = 500;
const SEED = 0;

/**
 * Cuckoo filter: stores a fingerprint of f bits for each id, in one of two buckets of b = 4 slots. The second bucket is
 * `i2 = i1 xor hash(fingerprint)`, and the same formula leads from i2 back to i1, so a fingerprint can move without its
 * id.
 *
 * FPR `1 - (1 - 1 / (2^f - 1))^(2 b a)` at load a, about `2 b a / 2^f`; therefore `f = log2(2 b / rate)`, rounded up.
 * Memory: f bits per slot. The number of buckets is a power of two, and they are filled to at most 95 %: f / 0.95 to 2
 * f / 0.95 bits per id. An id that is added more than once is stored more than once, at most eight times.
 *
 * Source: Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than Bloom" (CoNEXT 2014).
 */
export class CuckooFilter implements ErasableFilter {
  readonly name = 'cuckoo';
  readonly #table: CuckooTable;
  readonly #idHash: IdHash;
  #elements: number;
  readonly #hash: Uint32Array = new Uint32Array(4);
  /** The displaced slots, so that an unsuccessful series of moves can be undone. */
  readonly #kicked: Uint32Array = new Uint32Array(KICKS_MAX);

  private constructor(table: CuckooTable, idHash: IdHash = murmur3) {
    this.#idHash = idHash;
    this.#table = table;
    this.#elements = table.countUsed();
  }

  /** @throws UsageError if the capacity is above 250 million or the rate below 3.8e-9 */
  static forCapacity({ capacity, falsePositiveRate, idHash }: CapacityOptions & IdHashOption): CuckooFilter {
    checkCapacity(capacity, CAPACITY_MAX);
    checkRate(falsePositiveRate);
    checkReachable(falsePositiveRate, RATE_MIN);
    const fingerprintBits = Math.max(FINGERPRINT_BITS_MIN, Math.ceil(Math.log2(CANDIDATE_SLOTS / falsePositiveRate)));
    const buckets = (capacity / LOAD_MAX + SPARE_SLOTS * Math.sqrt(capacity)) / BUCKET_SLOTS;
    const bucketCount = 2 ** Math.max(1, Math.ceil(Math.log2(buckets)));
    return new CuckooFilter(new CuckooTable(bucketCount, fingerprintBits), idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): CuckooFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('cuckoo', bytes);
    const [bucketCount, fingerprintBits] = numbers;
    const isPlausible =
      isWholeNumber(bucketCount, 2, BUCKETS_MAX) &&
      Number.isInteger(Math.log2(bucketCount)) &&
      isWholeNumber(fingerprintBits, FINGERPRINT_BITS_MIN, FINGERPRINT_BITS_MAX) &&
      arrays[0]?.length === CuckooTable.wordCount(bucketCount, fingerprintBits) * 4;
    checkSaved(isPlausible && numbers.length === 2 && arrays.length === 1, 'cuckoo', 'its numbers are inconsistent');
    return new CuckooFilter(new CuckooTable(bucketCount, fingerprintBits, new Uint32Array(arrays[0]!.buffer)));
  }

  get elements(): number {
    return this.#elements;
  }

  get memoryBytes(): number {
    return this.#table.words.byteLength;
  }

  /** f: bits per fingerprint. */
  get fingerprintBits(): number {
    return this.#table.fingerprintBits;
  }

  /** Fraction of the slots that are taken. */
  get load(): number {
    return this.#elements / this.#table.slotCount;
  }

  /**
   * Adds a copy of an id. If both of its buckets are full, fingerprints move to their alternative buckets.
   * @throws FilterFullError after 500 moves, or for the ninth copy of an id; the filter is unchanged then
   */
  add(id: Uint8Array): void {
    const table = this.#table;
    const fingerprint = this.#fingerprintOf(id);
    const bucket = this.#bucketOf();
    let slot = table.find(bucket, 0);
    if (slot < 0) slot = table.find(this.#otherBucket(bucket, fingerprint), 0);
    if (slot >= 0) table.set(slot, fingerprint);
    else if (!this.#kick(bucket, fingerprint)) throw this.#fullError();
    this.#elements++;
  }

  has(id: Uint8Array): boolean {
    return this.#find(id) >= 0;
  }

  /**
   * Deletes one copy and returns true, or returns false if no fingerprint matches. Delete only ids that were added:
   * deleting a false positive removes the fingerprint of another id.
   */
  delete(id: Uint8Array): boolean {
    const slot = this.#find(id);
    if (slot < 0) return false;
    this.#table.set(slot, 0);
    this.#elements--;
    return true;
  }

  /** What `has` reads for an id: the slots of its two buckets. */
  trace(id: Uint8Array): SlotTrace {
    const fingerprint = this.#fingerprintOf(id);
    const first = this.#bucketOf();
    const buckets = [first, this.#otherBucket(first, fingerprint)];
    const slots = buckets.flatMap((bucket, index) =>
      Array.from({ length: BUCKET_SLOTS }, (_, nth): TracedSlot => {
        const place = bucket * BUCKET_SLOTS + nth;
        const value = this.#table.get(place);
        return { label: `bucket ${index + 1}`, place, value: value || undefined, isMatch: value === fingerprint };
      }),
    );
    const isFound = slots.some(({ isMatch }) => isMatch);
    return {
      hashes: [
        ['hash', hexOfHalf(this.#hash, 0)],
        ['fingerprint', `${inHexadecimal(fingerprint)}, of ${this.fingerprintBits} bits`],
        ['bucket 1', `${first} of ${this.#table.bucketCount}, by the lowest bits of the hash`],
        ['bucket 2', `${buckets[1]}, by exclusive or with a hash of the fingerprint`],
      ],
      slots,
      format: inHexadecimal,
      isFound,
      reason: isFound ? 'a slot has the fingerprint' : 'no slot of the two buckets has the fingerprint',
    };
  }

  falsePositiveRate(): number {
    const fingerprints = 2 ** this.fingerprintBits - 1;
    return -Math.expm1(CANDIDATE_SLOTS * this.load * Math.log1p(-1 / fingerprints));
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    const { bucketCount, fingerprintBits, words } = this.#table;
    return encodeSaved('cuckoo', [bucketCount, fingerprintBits], [bytesOver(words)]);
  }

  #find(id: Uint8Array): number {
    const fingerprint = this.#fingerprintOf(id);
    const bucket = this.#bucketOf();
    const slot = this.#table.find(bucket, fingerprint);
    return slot >= 0 ? slot : this.#table.find(this.#otherBucket(bucket, fingerprint), fingerprint);
  }

  /**
   * Hashes the id and returns a fingerprint from 1 to 2^f - 1. Afterwards `#bucketOf()` returns the first bucket of the
   * id.
   */
  #fingerprintOf(id: Uint8Array): number {
    this.#idHash(id, SEED, this.#hash);
    return 1 + Math.floor(this.#hash[2]! * 2 ** -32 * (2 ** this.#table.fingerprintBits - 1));
  }

  #bucketOf(): number {
    return this.#hash[0]! & (this.#table.bucketCount - 1);
  }

  /** Never returns the same bucket, so an id always has eight slots. */
  #otherBucket(bucket: number, fingerprint: number): number {
    let mixed = Math.imul(fingerprint ^ (fingerprint >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    const distance = (mixed ^ (mixed >>> 16)) & (this.#table.bucketCount - 1);
    return bucket ^ (distance === 0 ? 1 : distance);
  }

  /** Replaces a fingerprint, moves the replaced one to its other bucket, and repeats this until a slot is free. */
  #kick(startBucket: number, startFingerprint: number): boolean {
    const table = this.#table;
    let random = this.#hash[1]!;
    let bucket = startBucket;
    let fingerprint = startFingerprint;
    for (let kicks = 0; kicks < KICKS_MAX; kicks++) {
      random = (Math.imul(random, 0x0019_660d) + 0x3c6e_f35f) | 0;
      const slot = bucket * BUCKET_SLOTS + (random >>> 30);
      this.#kicked[kicks] = slot;
      fingerprint = swap(table, slot, fingerprint);
      bucket = this.#otherBucket(bucket, fingerprint);
      const empty = table.find(bucket, 0);
      if (empty >= 0) {
        table.set(empty, fingerprint);
        return true;
      }
    }
    for (let kicks = KICKS_MAX - 1; kicks >= 0; kicks--) fingerprint = swap(table, this.#kicked[kicks]!, fingerprint);
    return false;
  }

  #fullError(): FilterFullError {
    const percent = (this.load * 100).toFixed(1);
    return new FilterFullError(`the cuckoo filter is full: ${percent} % of its slots are taken`, {
      hint: 'Create a filter with a larger capacity and add all ids again. Do not add the same id more than eight times.',
    });
  }
}

function swap(table: CuckooTable, slot: number, fingerprint: number): number {
  const old = table.get(slot);
  table.set(slot, fingerprint);
  return old;
}
