import { UsageError } from '../../core/errors.ts';
import {
  HASHES_MAX,
  LONG_BITS,
  STRATEGIES,
  decodeGuava,
  encodeGuava,
  type GuavaForm,
  type GuavaStrategy,
} from './guava-form.ts';
import {
  BITS_MAX,
  OLDER_BITS_MAX,
  NARROW_BITS_MAX,
  fillNarrowPositions,
  fillOlderPositions,
  fillWidePositions,
  remainderOf,
  traceOfGuava,
} from './guava-positions.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MergeableFilter } from './membership-filter.ts';
import type { Trace } from './trace.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { checkCapacity, checkRate } from './sizing.ts';

export interface BloomOptions extends IdHashOption {
  /** n_max: number of ids for which the rate holds. */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** Default: MURMUR128_MITZ_64, as in Guava since version 18. */
  readonly strategy?: GuavaStrategy | undefined;
}

/**
 * The standard Bloom filter (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970): m bits,
 * of which each id sets k. The false positive rate is `(1 - e^(-kn/m))^k`; its minimum is `2^-k` at `k = (m/n) ln 2`.
 *
 * Bit-compatible with the `BloomFilter` of Google Guava, with both of its strategies: `save` writes the same bytes as
 * `writeTo`, and `load` reads them. `add` and `has` match the byte-array funnel of Guava; for other funnels,
 * pass the result of `stringFunnel` or `longFunnel`.
 *
 * Ids cannot be counted exactly, because an id that was added before looks like a false positive; `elements` is an
 * estimate.
 */
export class BloomFilter implements MergeableFilter<BloomFilter> {
  readonly name = 'bloom';
  /** m, a multiple of 64 */
  readonly bits: number;
  /** k */
  readonly hashes: number;
  readonly strategy: GuavaStrategy;
  readonly #words: Int32Array;
  readonly #hash = new Uint32Array(4);
  /** 2^63 modulo m, subtracted from a position when the sum of the hashes wraps. */
  readonly #wrap: number;
  /** Positions of the current id; `#widePositions` replaces `#positions` in filters that are too large for 32 bits. */
  readonly #positions: Int32Array;
  readonly #widePositions: Float64Array | undefined;
  readonly #idHash: IdHash;
  #bitCount: number;

  private constructor(form: GuavaForm, bitCount: number, idHash: IdHash = murmur3) {
    const { strategy, hashes, words } = form;
    this.#idHash = idHash;
    this.strategy = strategy;
    this.hashes = hashes;
    this.bits = words.length * 32;
    this.#words = words;
    this.#wrap = remainderOf(2 ** 31, 0, this.bits);
    this.#positions = new Int32Array(hashes);
    const isWide = strategy === 'MURMUR128_MITZ_64' && this.bits > NARROW_BITS_MAX;
    this.#widePositions = isWide ? new Float64Array(hashes) : undefined;
    this.#bitCount = bitCount;
  }

  /**
   * Uses the sizes of Guava: `m = -n ln p / (ln 2)^2`, rounded up to whole longs, and `k = -log2 p`, rounded and at
   * least 1.
   * @throws UsageError if a value is out of range
   */
  static forCapacity({
    capacity,
    falsePositiveRate,
    strategy = 'MURMUR128_MITZ_64',
    idHash,
  }: BloomOptions): BloomFilter {
    checkCapacity(capacity);
    checkRate(falsePositiveRate);
    if (!STRATEGIES.includes(strategy)) {
      throw new UsageError(`${strategy} is not a strategy of Guava`, { hint: `Give ${STRATEGIES.join(' or ')}.` });
    }
    const bits = Math.max(1, Math.trunc((-capacity * Math.log(falsePositiveRate)) / (Math.LN2 * Math.LN2)));
    const hashes = Math.max(1, Math.round(-Math.log(falsePositiveRate) / Math.LN2));
    const bitsMax = strategy === 'MURMUR128_MITZ_32' ? OLDER_BITS_MAX : BITS_MAX;
    if (bits > bitsMax || hashes > HASHES_MAX) {
      throw new UsageError(`a Bloom filter of ${bits} bits with ${hashes} hashes is not supported`, {
        hint: `The maximum is ${bitsMax} bits and ${HASHES_MAX} hashes: choose a higher rate or a lower capacity.`,
      });
    }
    return new BloomFilter({ strategy, hashes, words: new Int32Array(Math.ceil(bits / LONG_BITS) * 2) }, 0, idHash);
  }

  /**
   * Reads bytes written by `save` or by Guava. The format has no checksum: header and length are checked, but flipped
   * bits cannot be detected.
   * @throws CorruptDataError if the header or the length is invalid
   */
  static load(bytes: Uint8Array): BloomFilter {
    const form = decodeGuava(bytes);
    return new BloomFilter(form, countBits(form.words));
  }

  save(): Uint8Array {
    assertHashed(this.#idHash);
    return encodeGuava({ strategy: this.strategy, hashes: this.hashes, words: this.#words });
  }

  /**
   * The `approximateElementCount` of Guava: `-(m/k) ln(1 - X/m)` with X bits set, rounded (Swamidass and Baldi 2007).
   * If all bits are set, the formula gives no result, so one bit less is assumed.
   */
  get elements(): number {
    const fill = Math.min(this.#bitCount, this.bits - 1) / this.bits;
    return Math.round((-Math.log1p(-fill) * this.bits) / this.hashes);
  }

  get memoryBytes(): number {
    return this.#words.byteLength;
  }

  /** Number of set bits. */
  get bitCount(): number {
    return this.#bitCount;
  }

  /** The `expectedFpp` of Guava: `(X/m)^k` with X bits set. It assumes independent positions, unlike double hashing. */
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
    const positions = this.#narrowPositions();
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
    const positions = this.#narrowPositions();
    for (let index = 0; index < positions.length; index++) {
      const position = positions[index]!;
      if (((words[position >>> 5]! >>> position) & 1) === 0) return false;
    }
    return true;
  }

  /** What `has` reads for an id. */
  trace(id: Uint8Array): Trace {
    this.#idHash(id, 0, this.#hash);
    const wide = this.#widePositions;
    if (wide !== undefined) fillWidePositions(this.#hash, this.bits, this.#wrap, wide);
    const positions = [...(wide ?? this.#narrowPositions())];
    const valueAt = (position: number): number => (this.#words[Math.floor(position / 32)]! >>> (position % 32)) & 1;
    return { ...traceOfGuava(this.strategy, this.#hash), positions, arrays: [{ size: this.bits, valueAt }] };
  }

  /**
   * Adds the ids of another filter with the same m, k and strategy.
   * @throws UsageError if they differ
   */
  merge(other: BloomFilter): void {
    if (other.bits !== this.bits || other.hashes !== this.hashes || other.strategy !== this.strategy) {
      throw new UsageError(
        `a Bloom filter of ${other.bits} bits and ${other.hashes} hashes (${other.strategy}) cannot be merged into one of ${this.bits} and ${this.hashes} (${this.strategy})`,
        { hint: 'Create both with the same capacity, rate and strategy.' },
      );
    }
    assertHashed(other.#idHash);
    assertHashed(this.#idHash);
    const words = this.#words;
    for (let index = 0; index < words.length; index++) words[index]! |= other.#words[index]!;
    this.#bitCount = countBits(words);
  }

  #narrowPositions(): Int32Array {
    const positions = this.#positions;
    if (this.strategy === 'MURMUR128_MITZ_32') fillOlderPositions(this.#hash, this.bits, positions);
    else fillNarrowPositions(this.#hash, this.bits, this.#wrap, positions);
    return positions;
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
    // Add neighbouring groups of 2, 4 and 8 bits, then sum the four bytes with a multiplication.
    let sums = word - ((word >>> 1) & 0x5555_5555);
    sums = (sums & 0x3333_3333) + ((sums >>> 2) & 0x3333_3333);
    sums = (sums + (sums >>> 4)) & 0x0f0f_0f0f;
    count += Math.imul(sums, 0x0101_0101) >>> 24;
  }
  return count;
}
