import { startOf, stepFrom, strideOf } from '../../core/ldm/positions.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { partitionSizes, type CountingShape } from './counting-shape.ts';
import type { IdHash } from './id-hash.ts';
import { hexOfHalf, traceOfStride, type Trace } from './trace.ts';

/**
 * Computes the k positions of an id in a counting Bloom filter: a start and a stride modulo the prime m (Kirsch and
 * Mitzenmacher, "Less Hashing, Same Performance", 2006); or, if partitioned, one hash modulo the size of each partition
 * (Lu and others, "One-Hashing Bloom Filter", 2015).
 */
export class CountingPositions {
  /** m, the sum over all partitions. */
  readonly total: number;
  readonly idHash: IdHash;
  readonly #seed: number;
  readonly #isPartitioned: boolean;
  readonly #sizes: Int32Array;
  readonly #hash = new Uint32Array(4);
  readonly #positions: Int32Array;

  constructor(shape: CountingShape, idHash: IdHash = murmur3) {
    const sizes = sizesOf(shape);
    this.total = sizes.reduce((sum, size) => sum + size, 0);
    this.idHash = idHash;
    this.#seed = shape.seed;
    this.#isPartitioned = shape.isPartitioned;
    this.#sizes = Int32Array.from(sizes);
    this.#positions = new Int32Array(shape.hashes);
  }

  /** Returns an array that the next call overwrites. */
  of(id: Uint8Array): Int32Array {
    this.idHash(id, this.#seed, this.#hash);
    if (this.#isPartitioned) this.#fillPartitioned();
    else this.#fillStrided();
    return this.#positions;
  }

  /** An unsigned word for the id that `of` had last. Its low 12 bits do not depend on the positions. */
  get lockKey(): number {
    return this.#hash[3]!;
  }

  /** The positions of an id and how they follow from its hash, in words. */
  trace(id: Uint8Array): Pick<Trace, 'hashes' | 'rule' | 'positions'> {
    const positions = [...this.of(id)];
    if (this.#isPartitioned) {
      const hashes = [['hash', hexOfHalf(this.#hash, 0)]] as const;
      return { hashes, rule: 'each is the lower 53 bits of the hash modulo the size of a partition', positions };
    }
    const start = startOf(this.#hash, 0, this.total);
    const stride = strideOf(this.#hash, 0, this.total);
    return traceOfStride({ start, stride }, { size: this.total, hashes: positions.length });
  }

  #fillStrided(): void {
    const [hash, positions, size] = [this.#hash, this.#positions, this.total];
    const stride = strideOf(hash, 0, size);
    let position = startOf(hash, 0, size);
    for (let index = 0; index < positions.length; index++) {
      positions[index] = position;
      position = stepFrom(position, stride, size);
    }
  }

  /** Takes 53 bits of the hash modulo the size of each partition. Exact, because no product exceeds 2^53. */
  #fillPartitioned(): void {
    const [hash, positions, sizes] = [this.#hash, this.#positions, this.#sizes];
    const value = (hash[1]! & 0x1f_ffff) * 2 ** 32 + hash[0]!;
    let begin = 0;
    for (let index = 0; index < positions.length; index++) {
      const size = sizes[index]!;
      positions[index] = begin + (value - Math.floor(value / size) * size);
      begin += size;
    }
  }
}

function sizesOf({ firstSize, hashes, isPartitioned }: CountingShape): number[] {
  return isPartitioned ? partitionSizes(firstSize, hashes) : [firstSize];
}
