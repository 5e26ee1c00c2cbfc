import { UsageError } from '../../core/errors.ts';
import { xxh64 } from '../../core/util/xxh64.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MergeableFilter } from './membership-filter.ts';
import { decodeParquet, encodeParquet } from './parquet-form.ts';
import { bytesOfWords, checkSaved, decodeSaved, encodeSaved, wordsOfBytes } from './saved-filter.ts';
import { type CapacityOptions, checkCapacity, checkRate } from './sizing.ts';
import { hexOfHalf, type Trace } from './trace.ts';
import {
  BLOCKS_MAX,
  BLOCK_BYTES,
  BLOCK_WORDS,
  bitsOf,
  bitsSet,
  blockAt,
  blocksForRate,
  hasBits,
  rateOf,
  setBits,
} from './split-block.ts';

const NAME = 'split-block-bloom';
const WORD_BITS = 32;
const SEED = 0;

/**
 * Split-block Bloom filter of Apache Parquet: blocks of 256 bits. The high word of the XXH64 hash of an id selects a
 * block, and the low word sets one bit in each of its eight words. A look-up reads one cache line.
 *
 * FPR: the mean over the blocks of the product of the shares of set bits in their words; expected are the sum over j of
 * P(j ids in a block) (1 - (31/32)^j)^8, with the Poisson distribution. `forCapacity` takes as few blocks as that needs:
 * 10.5 bits per id for a rate of 1 %. (Parquet's own formula, 9.7 bits, leaves out that blocks differ.)
 *
 * `toParquet` and `fromParquet` exchange it with Parquet files, for columns of type BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY
 * whose values are the ids. `save` is the form of this family, with a checksum.
 *
 * Ids cannot be counted exactly, because an id that was added before looks like a false positive; `elements` is an
 * estimate.
 *
 * Source: Parquet's specification, `BloomFilter.md` of apache/parquet-format; Putze, Sanders, Singler, "Cache-, Hash-
 * and Space-Efficient Bloom Filters" (ACM JEA 14, 2009), for blocks.
 */
export class SplitBlockBloomFilter implements MergeableFilter<SplitBlockBloomFilter> {
  readonly name = 'split-block-bloom';
  readonly blocks: number;
  readonly #words: Int32Array;
  readonly #idHash: IdHash;
  readonly #hash: Uint32Array = new Uint32Array(2);

  private constructor(words: Int32Array, idHash: IdHash = xxh64) {
    this.blocks = words.length / BLOCK_WORDS;
    this.#words = words;
    this.#idHash = idHash;
  }

  /** @throws UsageError if a value is out of range, or the blocks would take 2 GiB or more */
  static forCapacity({ capacity, falsePositiveRate, idHash }: CapacityOptions & IdHashOption): SplitBlockBloomFilter {
    checkCapacity(capacity);
    checkRate(falsePositiveRate);
    const blocks = blocksForRate(capacity, falsePositiveRate);
    if (blocks > BLOCKS_MAX) {
      throw new UsageError(`a split-block filter of ${capacity} ids cannot have a rate of ${falsePositiveRate}`, {
        hint: 'The maximum is 2 GiB: choose a higher rate or a lower capacity.',
      });
    }
    return new SplitBlockBloomFilter(new Int32Array(blocks * BLOCK_WORDS), idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): SplitBlockBloomFilter {
    const { numbers, arrays } = decodeSaved(NAME, bytes);
    const [array] = arrays;
    const isPlausible =
      numbers.length === 0 &&
      arrays.length === 1 &&
      array!.length > 0 &&
      array!.length % BLOCK_BYTES === 0 &&
      array!.length <= BLOCKS_MAX * BLOCK_BYTES;
    checkSaved(isPlausible, NAME, 'it does not consist of whole blocks');
    return new SplitBlockBloomFilter(wordsOfBytes(array!));
  }

  /**
   * Reads the header and the blocks of a filter in a Parquet file. The format has no checksum: flipped bits of the blocks
   * cannot be detected.
   * @throws CorruptDataError if the header is not that of such a filter, or does not match the length
   */
  static fromParquet(bytes: Uint8Array): SplitBlockBloomFilter {
    return new SplitBlockBloomFilter(wordsOfBytes(decodeParquet(bytes)));
  }

  /** Header and blocks, as they are in a Parquet file from `bloom_filter_offset` on. */
  toParquet(): Uint8Array {
    assertHashed(this.#idHash, xxh64);
    return encodeParquet(bytesOfWords(this.#words));
  }

  save(): Uint8Array {
    assertHashed(this.#idHash, xxh64);
    return encodeSaved(NAME, [], [bytesOfWords(this.#words)]);
  }

  /** With X of m = 256 b bits set, `ln(1 - X/m) / ln(1 - 1 / (32 b))`, rounded; with X - 1 if all bits are set. */
  get elements(): number {
    let bitCount = 0;
    for (const word of this.#words) bitCount += bitsSet(word);
    const bits = this.#words.length * WORD_BITS;
    const share = Math.min(bitCount, bits - 1) / bits;
    return Math.round(Math.log1p(-share) / Math.log1p(-1 / (WORD_BITS * this.blocks)));
  }

  get memoryBytes(): number {
    return this.#words.byteLength;
  }

  add(id: Uint8Array): void {
    this.#idHash(id, SEED, this.#hash);
    setBits(this.#words, blockAt(this.#hash[1]!, this.blocks), this.#hash[0]!);
  }

  has(id: Uint8Array): boolean {
    this.#idHash(id, SEED, this.#hash);
    return hasBits(this.#words, blockAt(this.#hash[1]!, this.blocks), this.#hash[0]!);
  }

  /** What `has` reads for an id: one block. */
  trace(id: Uint8Array): Trace {
    this.#idHash(id, SEED, this.#hash);
    const at = blockAt(this.#hash[1]!, this.blocks);
    const valueAt = (bit: number): number => (this.#words[at + (bit >>> 5)]! >>> (bit & 31)) & 1;
    return {
      hashes: [
        ['hash', hexOfHalf(this.#hash, 0)],
        ['block', `${at / BLOCK_WORDS} of ${this.blocks}, by the upper half`],
      ],
      rule: 'in each of the 8 words of the block, the bit that the lower half times a factor selects',
      positions: bitsOf(this.#hash[0]!),
      unit: 'bit',
      arrays: [{ size: BLOCK_WORDS * WORD_BITS, valueAt }],
    };
  }

  /**
   * Adds the ids of another filter with as many blocks.
   * @throws UsageError if it has more or fewer
   */
  merge(other: SplitBlockBloomFilter): void {
    if (other.blocks !== this.blocks) {
      throw new UsageError(
        `a split-block filter of ${other.blocks} blocks cannot be merged into one of ${this.blocks}`,
        {
          hint: 'Create both with the same capacity and rate.',
        },
      );
    }
    assertHashed(other.#idHash, xxh64);
    assertHashed(this.#idHash, xxh64);
    for (let index = 0; index < this.#words.length; index++) this.#words[index]! |= other.#words[index]!;
  }

  falsePositiveRate(): number {
    return rateOf(this.#words);
  }
}
