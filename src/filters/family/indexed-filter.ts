import { UsageError } from '../../core/errors.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { BUCKET_SLOTS, CuckooTable } from './cuckoo-table.ts';
import { HASH_WORDS, staticFilterError } from './hash-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MembershipFilter } from './membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { PendingKeys } from './pending-keys.ts';
import { ATTEMPTS_MAX, PerfectHash } from './perfect-hash.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import { checkRate, checkReachable } from './sizing.ts';
import { inHexadecimal, type SlotTrace } from './trace.ts';

/** Fingerprint and location together. With 2.61 bits for the perfect hash, a key takes at most 32 bits. */
const SLOT_BITS_MAX = 29;
const KEYS_MAX = 2 ** 27;
const SEED = 0;
/** The word of a hash that perfect hashing does not use. */
const FINGERPRINT_WORD = 3;

export interface IndexedOptions extends IdHashOption {
  /** The highest false positive rate, above 0 and below 1. */
  readonly falsePositiveRate: number;
  /** Locations are numbers from 0 to 2^locationBits - 1. Default: what 29 bits have left beside the fingerprint. */
  readonly locationBits?: number | undefined;
}

interface Built {
  readonly hash: PerfectHash;
  /** For each number of a key its fingerprint, and above it its location. */
  readonly slots: CuckooTable;
}

/**
 * An index that carries locations: it answers not only whether an id was added, but with which number, such as the
 * number of the pack or of the segment that has a chunk. A minimal perfect hash function gives each of the n ids a slot
 * of its own, with a fingerprint of f bits and a location of l bits.
 *
 * FPR `s 2^-f`: an absent id has the fingerprint of a slot with a probability of 2^-f; s, about 0.8, is the fraction of
 * absent ids that get a slot at all. `f = log2(1 / rate)`, rounded up. Memory: f + l + 2.61 bits per id, at most 32.
 *
 * It is static: the first query builds it of the ids that were added until then. Afterwards nothing can be added, and
 * nothing can ever be deleted. While it is being built, it takes about 40 bytes for each id.
 *
 * Source: Antichi, Ficara, Giordano, Procissi, Vitucci: "Blooming Trees for Minimal Perfect Hashing" (GLOBECOM 2008),
 * for an index of perfect hashing with fingerprints. It needs about 4 bits for the hash; see `PerfectHash` for the one
 * used here.
 */
export class IndexedFilter implements MembershipFilter {
  readonly name = 'indexed-filter';
  /** f */
  readonly fingerprintBits: number;
  /** l */
  readonly locationBits: number;
  readonly #idHash: IdHash;
  readonly #hash: Uint32Array = new Uint32Array(HASH_WORDS);
  #pending: PendingKeys | undefined;
  #built: Built | undefined;

  private constructor(fingerprintBits: number, locationBits: number, idHash: IdHash = murmur3, built?: Built) {
    this.fingerprintBits = fingerprintBits;
    this.locationBits = locationBits;
    this.#idHash = idHash;
    this.#built = built;
    this.#pending = built === undefined ? new PendingKeys() : undefined;
  }

  /** @throws UsageError if the rate is below 2^-29, or fingerprints and locations together have more than 29 bits */
  static withRate({ falsePositiveRate, locationBits, idHash }: IndexedOptions): IndexedFilter {
    checkRate(falsePositiveRate);
    checkReachable(falsePositiveRate, 2 ** -SLOT_BITS_MAX);
    const fingerprintBits = Math.max(1, Math.ceil(-Math.log2(falsePositiveRate)));
    const spareBits = SLOT_BITS_MAX - fingerprintBits;
    if (
      locationBits !== undefined &&
      !(Number.isInteger(locationBits) && locationBits >= 0 && locationBits <= spareBits)
    ) {
      throw new UsageError(`locations of ${locationBits} bits are out of range`, {
        hint: `At this rate, give a whole number from 0 to ${spareBits}.`,
      });
    }
    return new IndexedFilter(fingerprintBits, locationBits ?? spareBits, idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): IndexedFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('indexed-filter', bytes);
    const [keys, attempt, fingerprintBits, locationBits] = numbers;
    const isPlausible =
      isWholeNumber(keys, 0, KEYS_MAX) &&
      isWholeNumber(attempt, 0, ATTEMPTS_MAX) &&
      isWholeNumber(fingerprintBits, 1, SLOT_BITS_MAX) &&
      isWholeNumber(locationBits, 0, SLOT_BITS_MAX - fingerprintBits) &&
      numbers.length === 4 &&
      arrays.length === 2 &&
      arrays[0]!.length === PerfectHash.wordCount(keys) * 4 &&
      arrays[1]!.length === CuckooTable.wordCount(bucketsOf(keys), fingerprintBits + locationBits) * 4;
    checkSaved(isPlausible, 'indexed-filter', 'its numbers are inconsistent');
    const hash = new PerfectHash(keys, attempt, new Uint32Array(arrays[0]!.buffer));
    checkSaved(hash.assigned === keys, 'indexed-filter', 'it does not have a slot for each id');
    const slotBits = fingerprintBits + locationBits;
    const slots = new CuckooTable(bucketsOf(keys), slotBits, new Uint32Array(arrays[1]!.buffer));
    return new IndexedFilter(fingerprintBits, locationBits, murmur3, { hash, slots });
  }

  get elements(): number {
    return this.#pending?.hashes.count ?? this.#index().hash.keys;
  }

  /** Builds the filter. */
  get memoryBytes(): number {
    const { hash, slots } = this.#index();
    return hash.memoryBytes + slots.words.byteLength;
  }

  /**
   * Adds an id with its location; added again, it has only the last location.
   * @throws UsageError if the location has more than `locationBits` bits
   * @throws FilterFullError after the first query
   */
  add(id: Uint8Array, location = 0): void {
    if (this.#pending === undefined) throw staticFilterError(this.name);
    if (!(Number.isInteger(location) && location >= 0 && location < 2 ** this.locationBits)) {
      throw new UsageError(`the location ${location} is out of range`, {
        hint: `Give a whole number below 2^${this.locationBits}, or create the filter with more location bits.`,
      });
    }
    this.#idHash(id, SEED, this.#hash);
    this.#pending.put(this.#hash, location);
  }

  /** The location of an id, or that of some id with the probability `falsePositiveRate()` if it was not added. */
  locate(id: Uint8Array): number | undefined {
    const { hash, slots } = this.#index();
    this.#idHash(id, SEED, this.#hash);
    const number = hash.numberOf(this.#hash);
    if (number < 0) return undefined;
    const slot = slots.get(number);
    const mask = 2 ** this.fingerprintBits - 1;
    return (slot & mask) === this.#fingerprintOf(this.#hash[FINGERPRINT_WORD]!)
      ? slot >>> this.fingerprintBits
      : undefined;
  }

  has(id: Uint8Array): boolean {
    return this.locate(id) !== undefined;
  }

  /** What `has` reads for an id: three values of the perfect hash, and the slot of the number that they select. */
  trace(id: Uint8Array): SlotTrace {
    const { hash, slots } = this.#index();
    this.#idHash(id, SEED, this.#hash);
    const { vertices, selected } = hash.selectionOf(this.#hash);
    const number = hash.numberOf(this.#hash);
    const fingerprint = this.#fingerprintOf(this.#hash[FINGERPRINT_WORD]!);
    const stored = number < 0 ? undefined : slots.get(number) & (2 ** this.fingerprintBits - 1);
    const isFound = stored === fingerprint;
    return {
      hashes: [
        ['fingerprint', `${inHexadecimal(fingerprint)}, of ${this.fingerprintBits} bits`],
        ['vertices', `3 of the perfect hash; the sum of their values modulo 3 selects vertex ${selected + 1}`],
        [
          'number',
          number < 0 ? 'none: the value of the vertex is 3' : `${number} of ${hash.keys}, the rank of the vertex`,
        ],
      ],
      slots: [
        ...vertices.map(([place, value], index) => ({ label: `vertex ${index + 1}`, place, value })),
        ...(number < 0 ? [] : [{ label: 'slot', place: number, value: stored, isMatch: isFound }]),
      ],
      format: inHexadecimal,
      isFound,
      reason: number < 0 ? 'the key has no number' : `its slot ${isFound ? 'has the' : 'has another'} fingerprint`,
    };
  }

  falsePositiveRate(): number {
    return this.#index().hash.selectedShare * 2 ** -this.fingerprintBits;
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    const { hash, slots } = this.#index();
    return encodeSaved(
      this.name,
      [hash.keys, hash.attempt, this.fingerprintBits, this.locationBits],
      [bytesOver(hash.words), bytesOver(slots.words)],
    );
  }

  #index(): Built {
    if (this.#pending !== undefined) {
      this.#built = this.#build(this.#pending);
      this.#pending = undefined;
    }
    return this.#built!;
  }

  #build({ hashes, locations }: PendingKeys): Built {
    const hash = PerfectHash.build(hashes);
    const slots = new CuckooTable(bucketsOf(hashes.count), this.fingerprintBits + this.locationBits);
    for (let key = 0; key < hashes.count; key++) {
      const at = key * HASH_WORDS;
      const fingerprint = this.#fingerprintOf(hashes.words[at + FINGERPRINT_WORD]!);
      slots.set(hash.numberOf(hashes.words, at), (locations[key]! << this.fingerprintBits) | fingerprint);
    }
    return { hash, slots };
  }

  #fingerprintOf(word: number): number {
    return word >>> (32 - this.fingerprintBits);
  }
}

function bucketsOf(keys: number): number {
  return Math.ceil(keys / BUCKET_SLOTS);
}
