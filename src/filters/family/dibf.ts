import type { ChainStatistics } from '../../core/ldm/chain-statistics.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { BloomFilter } from './bloom-filter.ts';
import type { CapacityOptions } from './sizing.ts';
import { toChunkId } from './chunk-ids.ts';
import { IndexArray } from './dibf-index.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MembershipFilter } from './membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import { checkCapacity, checkRate } from './sizing.ts';
import type { Trace } from './trace.ts';

/**
 * Ensures that the Bloom filter has more bits than the array has cells, so that a saved filter cannot claim more cells
 * than its size justifies.
 */
const RATE_MAX = 0.5;
const CAPACITY_MAX = 2 ** 31;
/** Differs from the seed of the Bloom filter, so that the cell is independent of the bits. */
const CELL_SEED = 1;

/**
 * DIBF, the dynamic index Bloom filter, which the LDM paper uses for comparison: a Bloom filter, and a square array of
 * at least n_max cells (40 x 40 for 1600) that hold chains of index values. If the Bloom filter answers "perhaps", the
 * chain of one cell gives the exact answer. Its chains are spread over n_max cells. The chains of the LDM filter, as
 * the paper defines them, are spread over about ten times as many link positions and are shorter; theory predicts a
 * longest chain of 5.17 ids at n_max = 640 and 5.75 at 1600, and of 2.65 and 2.97 with LDM.
 *
 * FPR 0. The rate of the Bloom filter, `(1 - e^(-kn/m))^k`, gives the probability of an unnecessary chain walk.
 * Deletion is not supported. Beyond n_max, the chains and that rate grow. Memory: 4 bytes per cell, 24 per id, plus the
 * Bloom filter.
 *
 * Source: the LDM paper (cloud-storage deduplication on a modified Bloom filter), its comparison.
 */
export class DibfFilter implements MembershipFilter {
  readonly name = 'dibf';
  readonly #capacity: number;
  readonly #bloom: BloomFilter;
  readonly #idHash: IdHash;
  readonly #index: IndexArray;
  readonly #hash: Uint32Array = new Uint32Array(4);

  private constructor(capacity: number, bloom: BloomFilter, idHash: IdHash = murmur3) {
    this.#idHash = idHash;
    this.#capacity = capacity;
    this.#bloom = bloom;
    this.#index = new IndexArray(capacity);
  }

  /**
   * @param options.falsePositiveRate - rate of the Bloom filter, at most 0.5
   * @throws UsageError if a value is out of range
   */
  static forCapacity({ capacity, falsePositiveRate, idHash }: CapacityOptions & IdHashOption): DibfFilter {
    checkCapacity(capacity, CAPACITY_MAX);
    checkRate(falsePositiveRate);
    const rate = Math.min(RATE_MAX, falsePositiveRate);
    return new DibfFilter(capacity, BloomFilter.forCapacity({ capacity, falsePositiveRate: rate, idHash }), idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): DibfFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('dibf', bytes);
    const [bloomBytes, ids] = arrays;
    checkSaved(arrays.length === 2 && ids!.length % ID_BYTES === 0, 'dibf', 'its arrays have wrong lengths');
    const bloom = BloomFilter.load(bloomBytes!);
    const [capacity] = numbers;
    const isPlausible = numbers.length === 1 && isWholeNumber(capacity, 1, Math.min(CAPACITY_MAX, bloom.bits));
    checkSaved(isPlausible, 'dibf', 'its capacity does not match its Bloom filter');
    const filter = new DibfFilter(capacity, bloom);
    for (let at = 0; at < ids!.length; at += ID_BYTES) filter.#restore(ids!.subarray(at, at + ID_BYTES));
    return filter;
  }

  get elements(): number {
    return this.#index.count;
  }

  get memoryBytes(): number {
    return this.#bloom.memoryBytes + this.#index.memoryBytes;
  }

  /** Number of rows, and of columns, of the index array. */
  get side(): number {
    return this.#index.side;
  }

  /** Adds an id unless it is present. */
  add(id: Uint8Array): void {
    const chunkId = toChunkId(id);
    const cell = this.#cellOf(chunkId);
    if (this.#bloom.has(chunkId) && this.#index.has(cell, chunkId)) return;
    this.#bloom.add(chunkId);
    this.#index.push(cell, chunkId);
  }

  has(id: Uint8Array): boolean {
    const chunkId = toChunkId(id);
    return this.#bloom.has(chunkId) && this.#index.has(this.#cellOf(chunkId), chunkId);
  }

  /** What `has` reads for an id: bits of the Bloom filter, and the chain of a cell if none of them is 0. */
  trace(id: Uint8Array): Trace {
    const chunkId = toChunkId(id);
    const cell = this.#cellOf(chunkId);
    const { side } = this;
    const rule = `row ${Math.floor(cell / side)}, column ${cell % side} of ${side} x ${side}`;
    const link = { name: 'cell', rule, position: cell, chainLength: this.#index.chainLength(cell) };
    return { ...this.#bloom.trace(chunkId), link };
  }

  falsePositiveRate(): number {
    return 0;
  }

  /** The answer of the Bloom filter alone; false is certain. */
  mayHave(id: Uint8Array): boolean {
    return this.#bloom.has(toChunkId(id));
  }

  /** Probability that `mayHave` is true for an absent id. */
  bloomRate(): number {
    return this.#bloom.falsePositiveRate();
  }

  /** Chains of ids in the non-empty cells. */
  chains(): ChainStatistics {
    return this.#index.chains();
  }

  longestChain(): number {
    return this.chains().max;
  }

  /** Number of empty cells among the `side` by `side` cells. */
  get emptyCells(): number {
    return this.#index.emptyCells;
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    return encodeSaved('dibf', [this.#capacity], [this.#bloom.save(), bytesOver(this.#index.idWords())]);
  }

  #restore(id: Uint8Array): void {
    const cell = this.#cellOf(id);
    checkSaved(this.#bloom.has(id), 'dibf', 'an id is not in its Bloom filter');
    checkSaved(!this.#index.has(cell, id), 'dibf', 'it contains an id twice');
    this.#index.push(cell, id);
  }

  #cellOf(id: Uint8Array): number {
    this.#idHash(id, CELL_SEED, this.#hash);
    return this.#index.cellOf(this.#hash[0]!, this.#hash[2]!);
  }
}
