import { UsageError } from '../errors.ts';
import { HASHES_MAX, LONG_BITS, decodeGuava, encodeGuava } from './guava-form.ts';
import { BITS_MAX, NARROW_BITS_MAX, fillNarrowPositions, fillWidePositions, remainderOf } from './guava-positions.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MergeableFilter } from './membership-filter.ts';
import { murmur3 } from './murmur3.ts';
import { checkCapacity, checkRate } from './sizing.ts';

export interface BloomOptions extends IdHashOption {
  /** n_max: ids for which the rate holds. */
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/**
 * The standard Bloom filter (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970): m bits, of
 * which each id sets k. False positive rate `(1 - e^(-kn/m))^k`, lowest for `k = (m/n) ln 2`, where it is `2^-k`.
 *
 * Bit for bit the `BloomFilter` of Google Guava with the strategy MURMUR128_MITZ_64: `save` gives what `writeTo` writes
 * there and `load` reads it. `add` and `has` are those of its byte-array funnel; for others hash what `stringFunnel` or
 * `longFunnel` gives.
 *
 * Ids cannot be counted, since one that was added before looks like a false positive; `elements` is an estimate.
 */
export class BloomFilter implements MergeableFilter<BloomFilter> {
  readonly name = 'bloom';
  /** m, a multiple of 64 */
  readonly bits: number;
  /** k */
  readonly hashes: number;
  readonly #words: Int32Array;
  readonly #hash = new Uint32Array(4);
  /** 2^63 modulo m: what a position loses where the sum of the hashes wraps. */
  readonly #wrap: number;
  /** Of the id at hand; and in filters too large for them. */
  readonly #positions: Int32Array;
  readonly #widePositions: Float64Array | undefined;
  readonly #idHash: IdHash;
  #bitCount: number;

  private constructor(hashes: number, words: Int32Array, bitCount: number, idHash: IdHash = murmur3) {
    this.#idHash = idHash;
    this.hashes = hashes;
    this.bits = words.length * 32;
    this.#words = words;
    this.#wrap = remainderOf(2 ** 31, 0, this.bits);
    this.#positions = new Int32Array(hashes);
    this.#widePositions = this.bits > NARROW_BITS_MAX ? new Float64Array(hashes) : undefined;
    this.#bitCount = bitCount;
  }

  /**
   * As Guava sizes it: `m = -n ln p / (ln 2)^2`, up to whole longs, and `k = -log2 p`, rounded and at least 1.
   * @throws UsageError for values out of range
   */
  static forCapacity({ capacity, falsePositiveRate, idHash }: BloomOptions): BloomFilter {
    checkCapacity(capacity);
    checkRate(falsePositiveRate);
    const bits = Math.max(1, Math.trunc((-capacity * Math.log(falsePositiveRate)) / (Math.LN2 * Math.LN2)));
    const hashes = Math.max(1, Math.round(-Math.log(falsePositiveRate) / Math.LN2));
    if (bits > BITS_MAX || hashes > HASHES_MAX) {
      throw new UsageError(`a Bloom filter of ${bits} bits with ${hashes} hashes is not possible`, {
        hint: `At most ${BITS_MAX} bits and ${HASHES_MAX} hashes: choose a higher rate or a lower capacity.`,
      });
    }
    return new BloomFilter(hashes, new Int32Array(Math.ceil(bits / LONG_BITS) * 2), 0, idHash);
  }

  /**
   * Reads what `save`, or Guava, wrote. The form has no checksum: the header and the length are checked, but bits that
   * turned cannot be told from others.
   * @throws CorruptDataError
   */
  static load(bytes: Uint8Array): BloomFilter {
    const { hashes, words } = decodeGuava(bytes);
    return new BloomFilter(hashes, words, countBits(words));
  }

  save(): Uint8Array {
    assertHashed(this.#idHash);
    return encodeGuava({ hashes: this.hashes, words: this.#words });
  }

  /**
   * Guava's approximateElementCount: `-(m/k) ln(1 - X/m)` with X bits set, rounded (Swamidass and Baldi 2007). With all
   * bits set nothing can be said; it is what it would be with one bit less.
   */
  get elements(): number {
    const fill = Math.min(this.#bitCount, this.bits - 1) / this.bits;
    return Math.round((-Math.log1p(-fill) * this.bits) / this.hashes);
  }

  get memoryBytes(): number {
    return this.#words.byteLength;
  }

  /** How many bits are set. */
  get bitCount(): number {
    return this.#bitCount;
  }

  /** Guava's expectedFpp: `(X/m)^k` with X bits set. It takes the positions as independent, which double hashing is not. */
  falsePositiveRate(): number {
    return (this.#bitCount / this.bits) ** this.hashes;
  }

  add(id: Uint8Array): void {
    this.#idHash(id, 0, this.#hash);
    if (this.#widePositions !== undefined) {
      this.#addWide(this.#widePositions);
      return;
    }
    const words = this.#words;
    const positions = this.#positions;
    fillNarrowPositions(this.#hash, this.bits, this.#wrap, positions);
    let bitCount = 0;
    for (let index = 0; index < positions.length; index++) {
      const position = positions[index]!;
      const word = words[position >>> 5]!;
      bitCount += ~(word >>> position) & 1;
      words[position >>> 5] = word | (1 << position);
    }
    this.#bitCount += bitCount;
  }

  has(id: Uint8Array): boolean {
    this.#idHash(id, 0, this.#hash);
    if (this.#widePositions !== undefined) return this.#hasWide(this.#widePositions);
    const words = this.#words;
    const positions = this.#positions;
    fillNarrowPositions(this.#hash, this.bits, this.#wrap, positions);
    for (let index = 0; index < positions.length; index++) {
      const position = positions[index]!;
      if (((words[position >>> 5]! >>> position) & 1) === 0) return false;
    }
    return true;
  }

  /**
   * Takes in the ids of another of the same m and k.
   * @throws UsageError where they differ
   */
  merge(other: BloomFilter): void {
    if (other.bits !== this.bits || other.hashes !== this.hashes) {
      throw new UsageError(
        `a Bloom filter of ${other.bits} bits and ${other.hashes} hashes cannot be merged into one of ${this.bits} and ${this.hashes}`,
        { hint: 'Create both with the same capacity and rate.' },
      );
    }
    assertHashed(other.#idHash);
    assertHashed(this.#idHash);
    const words = this.#words;
    for (let index = 0; index < words.length; index++) words[index]! |= other.#words[index]!;
    this.#bitCount = countBits(words);
  }

  #addWide(positions: Float64Array): void {
    fillWidePositions(this.#hash, this.bits, this.#wrap, positions);
    for (const position of positions) {
      const index = Math.floor(position / 32);
      const word = this.#words[index]!;
      this.#bitCount += ~(word >>> (position % 32)) & 1;
      this.#words[index] = word | (1 << (position % 32));
    }
  }

  #hasWide(positions: Float64Array): boolean {
    fillWidePositions(this.#hash, this.bits, this.#wrap, positions);
    for (const position of positions) {
      if (((this.#words[Math.floor(position / 32)]! >>> (position % 32)) & 1) === 0) return false;
    }
    return true;
  }
}

function countBits(words: Int32Array): number {
  let count = 0;
  for (const word of words) {
    // Sums of 2, 4 and 8 neighbouring bits, and the four bytes added by a multiplication.
    let sums = word - ((word >>> 1) & 0x5555_5555);
    sums = (sums & 0x3333_3333) + ((sums >>> 2) & 0x3333_3333);
    sums = (sums + (sums >>> 4)) & 0x0f0f_0f0f;
    count += Math.imul(sums, 0x0101_0101) >>> 24;
  }
  return count;
}
