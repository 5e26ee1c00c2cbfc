import assert from 'node:assert/strict';
import { refuseBigEndian } from '../../core/ldm/image-words.ts';
import { avalanche, carryOf, murmur3 } from '../../core/util/murmur3.ts';
import {
  firstSlotOf,
  fuseShape,
  fuseShapeOf,
  isFuseShape,
  secondSlotOf,
  thirdSlotOf,
  type FuseShape,
} from './fuse-shape.ts';
import { HASH_WORDS, staticFilterError } from './hash-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import { KEYS_MAX, KeyList } from './key-list.ts';
import type { MembershipFilter } from './membership-filter.ts';
import { PeelGraph } from './peel-graph.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber, savedNameOf } from './saved-filter.ts';
import { checkRate, checkReachable } from './sizing.ts';
import { hexOfHalf, inHexadecimal, type SlotTrace } from './trace.ts';

const WORD_MAX = 2 ** 32 - 1;
const ID_SEED = 0;
/** A right graph fails once in a few attempts. */
const ATTEMPTS_MAX = 1000;
const SEED_HIGH = 0x9e37_79b9;

export interface BinaryFuseOptions extends IdHashOption {
  /** The highest false positive rate, from 2^-16 on and below 1. */
  readonly falsePositiveRate: number;
  /** Bits of a fingerprint. Default: 8 if that keeps the rate, else 16. */
  readonly fingerprintBits?: 8 | 16 | undefined;
}

interface Built {
  readonly keys: number;
  readonly shape: FuseShape;
  readonly seedLow: number;
  readonly seedHigh: number;
  readonly fingerprints: Uint8Array | Uint16Array;
}

/**
 * Binary fuse filter: an array of fingerprints of f = 8 or 16 bits. The exclusive or of the three slots of an id is the
 * fingerprint of the id. The three are in consecutive segments of the array, which makes the array smaller than that of
 * an xor filter, and a look-up reads three places.
 *
 * FPR 2^-f, whatever the set. Memory: f bits per slot; 1.125 slots per id from 10^6 ids on, 1.25 for 10^4.
 *
 * It is static: the first query builds it of the ids that were added until then. Afterwards nothing can be added, and
 * nothing can ever be deleted. If the slots of the ids cannot be separated, it is built again with another seed. While
 * it is being built, it takes about 55 bytes for each id.
 *
 * Slots and fingerprints are those of the authors' implementation (xor_singleheader) for the first 64 bits of
 * MurmurHash3 x64 128 of an id, little-endian, as the key.
 *
 * Source: Graf, Lemire: "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (ACM JEA 27, 2022).
 */
export class BinaryFuseFilter implements MembershipFilter {
  /** f */
  readonly fingerprintBits: 8 | 16;
  readonly #idHash: IdHash;
  readonly #hash: Uint32Array = new Uint32Array(HASH_WORDS);
  #pending: KeyList | undefined;
  #built: Built | undefined;

  private constructor(fingerprintBits: 8 | 16, idHash: IdHash = murmur3, built?: Built) {
    this.fingerprintBits = fingerprintBits;
    this.#idHash = idHash;
    this.#built = built;
    this.#pending = built === undefined ? new KeyList() : undefined;
  }

  /** @throws UsageError if the rate is below 2^-f */
  static withRate({ falsePositiveRate, fingerprintBits, idHash }: BinaryFuseOptions): BinaryFuseFilter {
    checkRate(falsePositiveRate);
    const bits = fingerprintBits ?? (falsePositiveRate < 2 ** -8 ? 16 : 8);
    checkReachable(falsePositiveRate, 2 ** -bits);
    refuseBigEndian();
    return new BinaryFuseFilter(bits, idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): BinaryFuseFilter {
    refuseBigEndian();
    const name = savedNameOf(bytes) === 'binary-fuse-16' ? 'binary-fuse-16' : 'binary-fuse-8';
    const bits = name === 'binary-fuse-16' ? 16 : 8;
    const { numbers, arrays } = decodeSaved(name, bytes);
    const [keys, seedLow, seedHigh, segmentLength, segments] = numbers;
    const isPlausible =
      numbers.length === 5 &&
      arrays.length === 1 &&
      isWholeNumber(keys, 0, KEYS_MAX) &&
      isWholeNumber(seedLow, 0, WORD_MAX) &&
      isWholeNumber(seedHigh, 0, WORD_MAX) &&
      isFuseShape(keys, segmentLength, segments) &&
      arrays[0]!.length === (segments! * segmentLength! * bits) / 8;
    checkSaved(isPlausible, name, 'its numbers are inconsistent');
    const shape = fuseShape(segmentLength!, segments!);
    const fingerprints = bits === 8 ? arrays[0]! : new Uint16Array(arrays[0]!.buffer);
    return new BinaryFuseFilter(bits, murmur3, { keys, shape, seedLow, seedHigh, fingerprints });
  }

  get name(): 'binary-fuse-8' | 'binary-fuse-16' {
    return `binary-fuse-${this.fingerprintBits}`;
  }

  /** Number of distinct ids. Before the first query, this sorts what was added. */
  get elements(): number {
    return this.#built?.keys ?? this.#pending!.distinct().length / 2;
  }

  /** Builds the filter. */
  get memoryBytes(): number {
    return this.#filter().fingerprints.byteLength;
  }

  /** @throws FilterFullError after the first query, or if there are 2^27 ids */
  add(id: Uint8Array): void {
    if (this.#pending === undefined) throw staticFilterError(this.name);
    this.#idHash(id, ID_SEED, this.#hash);
    this.#pending.push(this.#hash[0]!, this.#hash[1]!);
  }

  has(id: Uint8Array): boolean {
    const { keys, shape, seedLow, seedHigh, fingerprints } = this.#filter();
    if (keys === 0) return false;
    this.#idHash(id, ID_SEED, this.#hash);
    mixKey(this.#hash[0]!, this.#hash[1]!, seedLow, seedHigh, this.#hash);
    const low = this.#hash[0]!;
    const high = this.#hash[1]!;
    const first = firstSlotOf(low, high, shape.firstSlots);
    const second = secondSlotOf(first, low, high, shape.segmentLength);
    const third = thirdSlotOf(first, low, shape.segmentLength);
    const found = fingerprints[first]! ^ fingerprints[second]! ^ fingerprints[third]!;
    return found === ((low ^ high) & (2 ** this.fingerprintBits - 1));
  }

  /** What `has` reads for an id: three slots. In an empty filter, it reads none. */
  trace(id: Uint8Array): SlotTrace {
    const { shape, fingerprints } = this.#filter();
    const isFound = this.has(id);
    const { firstSlots, segmentLength, slots: size } = shape;
    const [low, high] = [this.#hash[0]!, this.#hash[1]!];
    const first = firstSlotOf(low, high, firstSlots);
    const places = [first, secondSlotOf(first, low, high, segmentLength), thirdSlotOf(first, low, segmentLength)];
    const values = this.elements === 0 ? [] : places.map((place) => fingerprints[place]!);
    const together = values.reduce((sum, value) => sum ^ value, 0);
    const fingerprint = (low ^ high) & (2 ** this.fingerprintBits - 1);
    return {
      hashes: [
        ['hash', `${hexOfHalf(this.#hash, 0)}, mixed with the seed of this filter`],
        ['fingerprint', `${inHexadecimal(fingerprint)}, of ${this.fingerprintBits} bits`],
        ['slots', `${size} in segments of ${segmentLength}, one slot in each of three segments`],
      ],
      slots: [
        ...values.map((value, index) => ({ label: `slot ${index + 1}`, place: places[index]!, value })),
        { label: 'exclusive or', value: together, isMatch: isFound },
      ],
      format: inHexadecimal,
      isFound,
      reason: `the slots ${isFound ? 'make' : 'do not make'} the fingerprint`,
    };
  }

  falsePositiveRate(): number {
    return this.elements === 0 ? 0 : 2 ** -this.fingerprintBits;
  }

  save(): Uint8Array {
    assertHashed(this.#idHash);
    const { keys, seedLow, seedHigh, shape, fingerprints } = this.#filter();
    const bytes = new Uint8Array(fingerprints.buffer, fingerprints.byteOffset, fingerprints.byteLength);
    const segments = shape.slots / shape.segmentLength;
    return encodeSaved(this.name, [keys, seedLow, seedHigh, shape.segmentLength, segments], [bytes]);
  }

  #filter(): Built {
    if (this.#pending !== undefined) {
      this.#built = build(this.#pending.distinct(), this.fingerprintBits);
      this.#pending = undefined;
    }
    return this.#built!;
  }
}

/** @param keys - two words for each of the distinct keys */
function build(keys: Uint32Array, fingerprintBits: 8 | 16): Built {
  const count = keys.length / 2;
  const shape = fuseShapeOf(count);
  const seed = new Uint32Array(2);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    avalanche(attempt, SEED_HIGH, seed, 0);
    const [seedLow, seedHigh] = [seed[0]!, seed[1]!];
    const hashes = sortedHashes(keys, seedLow, seedHigh);
    const graph = graphOf(hashes, shape);
    if (!graph.peel()) continue;
    const fingerprints = fingerprintBits === 8 ? new Uint8Array(shape.slots) : new Uint16Array(shape.slots);
    graph.assignExclusiveOr(fingerprints, (key) => hashes[key * 2]! ^ hashes[key * 2 + 1]!);
    return { keys: count, shape, seedLow, seedHigh, fingerprints };
  }
  throw new assert.AssertionError({ message: `no binary fuse filter of ${count} ids in ${ATTEMPTS_MAX} attempts` });
}

/** In ascending order, the first slots of the keys ascend too, so building reads memory in order. */
function sortedHashes(keys: Uint32Array, seedLow: number, seedHigh: number): Uint32Array {
  const hashes = new BigUint64Array(keys.length / 2);
  const words = new Uint32Array(hashes.buffer);
  for (let at = 0; at < keys.length; at += 2) mixKey(keys[at]!, keys[at + 1]!, seedLow, seedHigh, words, at);
  hashes.sort();
  return words;
}

function graphOf(hashes: Uint32Array, { slots, firstSlots, segmentLength }: FuseShape): PeelGraph {
  const graph = new PeelGraph(hashes.length / 2, slots);
  for (let key = 0; key * 2 < hashes.length; key++) {
    const low = hashes[key * 2]!;
    const high = hashes[key * 2 + 1]!;
    const first = firstSlotOf(low, high, firstSlots);
    graph.setVertex(key, 0, first);
    graph.setVertex(key, 1, secondSlotOf(first, low, high, segmentLength));
    graph.setVertex(key, 2, thirdSlotOf(first, low, segmentLength));
  }
  return graph;
}

/** fmix64 of MurmurHash3 for the sum of key and seed, into two words of `out`. */
function mixKey(low: number, high: number, seedLow: number, seedHigh: number, out: Uint32Array, at = 0): void {
  const sum = (low + seedLow) | 0;
  avalanche(sum, (high + seedHigh + carryOf(low, seedLow, sum)) | 0, out, at);
}
