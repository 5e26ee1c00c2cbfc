import { MAX_HASHES } from '../../core/ldm/formulas.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { BoxTree, decodePaths, encodePaths } from './box-tree.ts';
import { HASH_WORDS, HashList, staticFilterError } from './hash-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { MembershipFilter } from './membership-filter.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import {
  type Fragment,
  fragmentAt,
  packLeaves,
  type Place,
  type RangeBox,
  type RangeEntry,
  type RangeSpan,
  weightOf,
} from './range-box.ts';
import { logOfMiss } from './bloom-slice.ts';
import { isInLeaf, type Leaf, loadLeaf, makeLeaf } from './range-leaf.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import { checkCapacity, checkRate, checkReachable } from './sizing.ts';

const DEFAULT_LEAVES = 64;
const LEAVES_MAX = 2 ** 16;
/** Smaller leaves would save no questions, and the floor of double hashing would need much larger filters. */
const LEAF_CHUNKS_MIN = 128;
const RATE_MIN = 2 ** -MAX_HASHES;
const SEED = 0;
const BOX_BYTES = 48;
const NOWHERE: Place = { timeMs: 0, path: new Uint8Array(0), sizeBytes: 0 };
const EVERYWHERE: RangeBox = {};

export interface RangeTreeOptions extends IdHashOption {
  /** The highest false positive rate of an id that is looked for in all leaves, above 0 and below 1. */
  readonly falsePositiveRate: number;
  /** s: the highest number of leaves; default: 64. There are fewer if they would have fewer than 128 chunks. */
  readonly leaves?: number | undefined;
}

interface Built {
  readonly boxes: BoxTree;
  readonly leaves: readonly Leaf[];
}

/**
 * A tree with filters: an R-tree over the time, path and size of files, with a Bloom filter of the chunk ids in each
 * leaf. It answers whether there may be a file in a box, and whether an id may be that of a chunk of such a file.
 *
 * A query box with the sides q_d is expected to overlap `sum over leaves of prod (w_d + q_d) / (1 + q_d)` of s leaves
 * with the sides w_d, all as fractions of the whole, if each place at which it touches the whole is equally probable:
 * nearly `prod (1 + q_d s^(1/3)) / (1 + q_d)` for files that are spread evenly. Without the denominator, which accounts
 * for the ends, this is the formula of Kamel and Faloutsos, "On Packing R-trees" (CIKM 1993).
 *
 * FPR `1 - prod(1 - f_i)` over the leaves that overlap the box, at most the sum of their rates f_i = (X_i / m_i)^k for
 * X_i set bits, plus `repeatRate`. A leaf has the rate `1 - (1 - rate)^(1/s)`, so that the rate holds for the whole.
 * Memory: `-log2(1 - (1 - rate)^(1/s)) / ln 2` bits per id, as in a dynamic Bloom filter, 48 bytes for each box and the
 * first and last path of each leaf. An id of several files counts once for each.
 *
 * It is static: the first query builds it of what was added until then. Afterwards nothing can be added, and nothing
 * can ever be deleted: a Bloom filter cannot delete, and a box does not know which file made it large.
 *
 * Source: Papadopoulos, Katsaros: "A-Tree: Distributed Indexing of Multidimensional Data for Cloud Computing
 * Environments" (CloudCom 2011). Its tree is distributed and can change; this one is made at once, see `packLeaves`.
 */
export class RangeTree implements MembershipFilter {
  readonly name = 'range-tree';
  readonly #falsePositiveRate: number;
  readonly #leavesMax: number;
  readonly #idHash: IdHash;
  readonly #hash: Uint32Array = new Uint32Array(HASH_WORDS);
  #fragments: (Fragment & { count: number })[] = [];
  #hashes: HashList | undefined;
  #lastPlace: Place | undefined;
  #built: Built | undefined;

  private constructor(falsePositiveRate: number, leavesMax: number, idHash: IdHash = murmur3, built?: Built) {
    this.#falsePositiveRate = falsePositiveRate;
    this.#leavesMax = leavesMax;
    this.#idHash = idHash;
    this.#built = built;
    this.#hashes = built === undefined ? new HashList() : undefined;
  }

  /** @throws UsageError if a value is out of range: the lowest rate is 2^-32 for each leaf */
  static withRate({ falsePositiveRate, leaves = DEFAULT_LEAVES, idHash }: RangeTreeOptions): RangeTree {
    checkRate(falsePositiveRate);
    checkCapacity(leaves, LEAVES_MAX);
    checkReachable(falsePositiveRate, RATE_MIN * leaves);
    return new RangeTree(falsePositiveRate, leaves, idHash);
  }

  /** @throws UsageError if an option is out of range, or the time or size of a file is not a number */
  static build(entries: Iterable<RangeEntry>, options: RangeTreeOptions): RangeTree {
    const tree = RangeTree.withRate(options);
    for (const entry of entries) {
      tree.addPlace(entry);
      for (const id of entry.chunkIds) tree.add(id, entry);
    }
    return tree;
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): RangeTree {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('range-tree', bytes);
    const [hashes, ...leafNumbers] = numbers;
    const leafCount = leafNumbers.length / 2;
    const isPlausible =
      isWholeNumber(hashes, 1, MAX_HASHES) &&
      isWholeNumber(leafCount, 0, LEAVES_MAX) &&
      (leafCount > 0 || hashes === 1) &&
      arrays.length === 2 + leafCount &&
      arrays[0]!.length === leafCount * BOX_BYTES;
    checkSaved(isPlausible, 'range-tree', 'its numbers are inconsistent');
    const boxes = new BoxTree(decodePaths(arrays[1]!), new Float64Array(arrays[0]!.buffer));
    checkSaved(boxes.isValid(), 'range-tree', 'its boxes are inconsistent');
    const leaves = arrays
      .slice(2)
      .map((array, index) =>
        loadLeaf(array, { hashes, positions: leafNumbers[index * 2], elements: leafNumbers[index * 2 + 1] }, index),
      );
    return new RangeTree(RATE_MIN, DEFAULT_LEAVES, murmur3, { boxes, leaves });
  }

  /** Number of pairs of a file and one of its chunks. */
  get elements(): number {
    return this.#hashes?.count ?? this.#tree().leaves.reduce((sum, { slice }) => sum + slice.elements, 0);
  }

  /** Builds the tree. */
  get memoryBytes(): number {
    const { boxes, leaves } = this.#tree();
    return leaves.reduce((sum, { slice }) => sum + slice.words.byteLength, boxes.memoryBytes);
  }

  /** Number of leaves. Builds the tree. */
  get leafCount(): number {
    return this.#tree().leaves.length;
  }

  /**
   * Adds a file, which may have no chunks.
   * @throws UsageError if its time or size is not a number
   * @throws FilterFullError after the first query
   */
  addPlace(place: Place): void {
    if (this.#hashes === undefined) throw staticFilterError(this.name);
    this.#fragments.push(fragmentAt(place, this.#hashes.count));
    this.#lastPlace = place;
  }

  /**
   * Adds a chunk of a file, by default of one without a path, at time and size 0. The chunks of a file should come
   * together: each change of `place` starts another file.
   * @throws FilterFullError after the first query
   */
  add(id: Uint8Array, place: Place = NOWHERE): void {
    if (this.#lastPlace !== place || this.#hashes === undefined) this.addPlace(place);
    this.#idHash(id, SEED, this.#hash);
    this.#hashes!.push(this.#hash);
    this.#fragments.at(-1)!.count++;
  }

  has(id: Uint8Array): boolean {
    return this.mayHold(EVERYWHERE, id);
  }

  /** Whether there may be a file in the box, and, with an id, one with this chunk. No is certain. */
  mayHold(box: RangeBox, id?: Uint8Array): boolean {
    const { boxes, leaves } = this.#tree();
    if (id === undefined) return boxes.some(box, () => true);
    this.#idHash(id, SEED, this.#hash);
    const hash = this.#hash;
    return boxes.some(box, (index) => isInLeaf(leaves[index]!, hash));
  }

  /** Number of leaves that overlap the box. */
  leavesIn(box: RangeBox): number {
    let count = 0;
    this.#tree().boxes.some(box, () => ++count < 0);
    return count;
  }

  /**
   * The leaves that overlap the box, with the smallest box around them: the files that the tree may mean are in both.
   * Undefined: there is no file in the box.
   */
  spanIn(box: RangeBox): RangeSpan | undefined {
    return this.#tree().boxes.spanIn(box);
  }

  /** Probability that `mayHold` is true for a box that overlaps leaves and an id of none of their files. */
  falsePositiveRateIn(box: RangeBox): number {
    const { boxes, leaves } = this.#tree();
    let logOfNone = 0;
    boxes.some(box, (index) => {
      const { slice, shape } = leaves[index]!;
      logOfNone += logOfMiss(slice, shape);
      return false;
    });
    return -Math.expm1(logOfNone) || 0;
  }

  falsePositiveRate(): number {
    return this.falsePositiveRateIn(EVERYWHERE);
  }

  save(): Uint8Array {
    refuseBigEndian();
    assertHashed(this.#idHash);
    const { boxes, leaves } = this.#tree();
    const numbers = leaves.flatMap(({ shape, slice }) => [shape.positions, slice.elements]);
    const { buffer, byteOffset, byteLength } = boxes.leafBoxes;
    const boxBytes = new Uint8Array(buffer, byteOffset, byteLength);
    return encodeSaved(
      this.name,
      [leaves[0]?.shape.hashes ?? 1, ...numbers],
      [boxBytes, encodePaths(boxes.paths), ...leaves.map(({ slice }) => bytesOver(slice.words))],
    );
  }

  #tree(): Built {
    if (this.#hashes !== undefined) {
      this.#built = this.#build(this.#hashes);
      this.#hashes = undefined;
      this.#fragments = [];
    }
    return this.#built!;
  }

  #build(hashes: HashList): Built {
    const weight = this.#fragments.reduce((sum, fragment) => sum + weightOf(fragment), 0);
    if (weight === 0) return { boxes: BoxTree.over([]), leaves: [] };
    const leafCount = Math.min(this.#leavesMax, Math.ceil(weight / LEAF_CHUNKS_MIN));
    const packed = packLeaves(this.#fragments, leafCount);
    const leafRate = -Math.expm1(Math.log1p(-this.#falsePositiveRate) / leafCount);
    const leaves = packed.map((fragments) => makeLeaf(fragments, hashes, leafRate));
    return { boxes: BoxTree.over(packed), leaves };
  }
}
