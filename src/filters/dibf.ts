import type { ChainStatistics } from '../filter/chain-statistics.ts';
import { bytesOver, refuseBigEndian } from '../filter/image-words.ts';
import { ID_BYTES } from '../filter/positions.ts';
import { BloomFilter } from './bloom-filter.ts';
import type { CapacityOptions } from './capacity-options.ts';
import { toChunkId } from './chunk-ids.ts';
import { IndexArray } from './dibf-index.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MembershipFilter } from './membership-filter.ts';
import { murmur3 } from './murmur3.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import { checkCapacity, checkRate } from './sizing.ts';

/** So that the bits of the Bloom filter are more than the cells, and a saved one cannot claim cells that it has no bytes for. */
const RATE_MAX = 0.5;
const CAPACITY_MAX = 2 ** 31;
/** Not the one of the Bloom filter: a cell must tell nothing about the bits. */
const CELL_SEED = 1;

/**
 * DIBF, the dynamic index Bloom filter, to which the LDM paper compares itself: a Bloom filter, and a square array of at
 * least n_max cells (40 x 40 for 1600) that hold chains of index values. Where the Bloom filter says "perhaps", the chain
 * of one cell gives the exact answer. Its chains hang on n_max cells. Those of the LDM filter, as the paper defines them,
 * hang on about ten times as many link positions and are shorter; theory expects the longest to have 5.17 ids at
 * n_max = 640 and 5.75 at 1600, and 2.65 and 2.97 with LDM.
 *
 * FPR 0; that of the Bloom filter, `(1 - e^(-kn/m))^k`, says how often a chain is walked in vain. Nothing can be deleted.
 * Beyond n_max the chains and that rate grow. Memory: 4 bytes a cell, 24 an id, and the Bloom filter.
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
   * @param options.falsePositiveRate - that of the Bloom filter; half of all at most
   * @throws UsageError for values out of range
   */
  static forCapacity({ capacity, falsePositiveRate, idHash }: CapacityOptions & IdHashOption): DibfFilter {
    checkCapacity(capacity, CAPACITY_MAX);
    checkRate(falsePositiveRate);
    const rate = Math.min(RATE_MAX, falsePositiveRate);
    return new DibfFilter(capacity, BloomFilter.forCapacity({ capacity, falsePositiveRate: rate, idHash }), idHash);
  }

  /** @throws CorruptDataError for anything that `save` did not write */
  static load(bytes: Uint8Array): DibfFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('dibf', bytes);
    const [bloomBytes, ids] = arrays;
    checkSaved(arrays.length === 2 && ids!.length % ID_BYTES === 0, 'dibf', 'its arrays have wrong lengths');
    const bloom = BloomFilter.load(bloomBytes!);
    const [capacity] = numbers;
    const isPlausible = numbers.length === 1 && isWholeNumber(capacity, 1, Math.min(CAPACITY_MAX, bloom.bits));
    checkSaved(isPlausible, 'dibf', 'its capacity does not fit its Bloom filter');
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

  /** Rows, and columns, of the index array. */
  get side(): number {
    return this.#index.side;
  }

  /** An id that is in is not added again. */
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

  falsePositiveRate(): number {
    return 0;
  }

  /** What the Bloom filter alone says of an id: false is certain. */
  mayHave(id: Uint8Array): boolean {
    return this.#bloom.has(toChunkId(id));
  }

  /** How likely `mayHave` is true for an id that is not in. */
  bloomRate(): number {
    return this.#bloom.falsePositiveRate();
  }

  /** Ids in each cell that has any. */
  chains(): ChainStatistics {
    return this.#index.chains();
  }

  longestChain(): number {
    return this.chains().max;
  }

  /** How many of the `side` by `side` cells have no id. */
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
    checkSaved(!this.#index.has(cell, id), 'dibf', 'an id is in it twice');
    this.#index.push(cell, id);
  }

  #cellOf(id: Uint8Array): number {
    this.#idHash(id, CELL_SEED, this.#hash);
    return this.#index.cellOf(this.#hash[0]!, this.#hash[2]!);
  }
}
