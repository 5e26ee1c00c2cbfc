import assert from 'node:assert/strict';
import { HASH_WORDS, type HashList } from './hash-list.ts';
import { FREE, PARTS, PeelGraph } from './peel-graph.ts';

/**
 * Vertices per key. A random graph in which each edge has three vertices can be peeled almost surely if it has 1.222 or
 * more vertices for each edge (Molloy, "Cores in random hypergraphs", 2005).
 */
const VERTICES_PER_KEY = 1.23;
/** More vertices in each part, because small graphs deviate more. */
const SPARE_VERTICES = 2;
/** A right graph fails once in a few attempts. */
export const ATTEMPTS_MAX = 1000;
const PAIRS_PER_WORD = 16;
/** Number of words of 16 vertices between two stored ranks. */
const RANK_WORDS = 16;
const TWO_POW_MINUS_32 = 2 ** -32;

/**
 * Minimal perfect hash function of a fixed set of n keys: each of them has a number of its own from 0 to n - 1. A key is
 * an edge with three vertices, one in each third of 1.23 n vertices. Each edge is assigned one of its vertices, which
 * the sum of the three values modulo 3 selects; the number of the key is the rank of that vertex among the assigned
 * ones. Another key gets the number of some key, or none.
 *
 * Memory: 2 bits per vertex and a rank of 32 bits for every 256 vertices, 1.23 (2 + 1/8) = 2.61 bits per key.
 *
 * Source: Botelho, Pagh, Ziviani: "Simple and Space-Efficient Minimal Perfect Hash Functions" (WADS 2007).
 */
export class PerfectHash {
  readonly keys: number;
  /** Number of the attempt that gave a graph that can be peeled; part of the hash of a vertex. */
  readonly attempt: number;
  /** Two bits per vertex; bits after the last vertex are set. */
  readonly words: Uint32Array;
  /** Fraction of all other keys that get a number. */
  readonly selectedShare: number;
  readonly #partSize: number;
  /** Number of assigned vertices before each block of 256. */
  readonly #ranks: Uint32Array;

  /**
   * @param words - from `PerfectHash.build` or saved ones
   * @throws AssertionError if they are not `PerfectHash.wordCount(keys)` words
   */
  constructor(keys: number, attempt: number, words: Uint32Array) {
    assert.equal(words.length, PerfectHash.wordCount(keys));
    this.keys = keys;
    this.attempt = attempt;
    this.words = words;
    this.#partSize = partSizeOf(keys);
    this.#ranks = new Uint32Array(Math.ceil(words.length / RANK_WORDS));
    let rank = 0;
    for (let at = 0; at < words.length; at++) {
      if (at % RANK_WORDS === 0) this.#ranks[at / RANK_WORDS] = rank;
      rank += PAIRS_PER_WORD - countFree(words[at]!);
    }
    this.assigned = rank;
    this.selectedShare = this.#shareOfSelected();
  }

  /** Number of assigned vertices; equal to `keys` unless saved words were forged. */
  readonly assigned: number;

  static wordCount(keys: number): number {
    return Math.ceil((partSizeOf(keys) * PARTS) / PAIRS_PER_WORD);
  }

  /** @param hashes - distinct ones */
  static build(hashes: HashList): PerfectHash {
    const partSize = partSizeOf(hashes.count);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const graph = new PeelGraph(hashes.count, partSize * PARTS);
      for (let key = 0; key < hashes.count; key++) {
        const at = key * HASH_WORDS;
        for (let part = 0; part < PARTS; part++) {
          graph.setVertex(key, part, vertexOf(hashes.words[at + part]!, attempt, part, partSize));
        }
      }
      if (graph.peel()) return new PerfectHash(hashes.count, attempt, packed(graph.assign()));
    }
    throw new assert.AssertionError({ message: `no perfect hash of ${hashes.count} keys in ${ATTEMPTS_MAX} attempts` });
  }

  get memoryBytes(): number {
    return this.words.byteLength + this.#ranks.byteLength;
  }

  /** The three vertices of a key with their values, and which of them these select. */
  selectionOf(hash: Uint32Array): {
    readonly vertices: readonly (readonly [vertex: number, value: number])[];
    readonly selected: number;
  } {
    const vertices = Array.from({ length: PARTS }, (_, part) => {
      const vertex = vertexOf(hash[part]!, this.attempt, part, this.#partSize);
      return [vertex, this.#valueOf(vertex)] as const;
    });
    return { vertices, selected: vertices.reduce((sum, [, value]) => sum + value, 0) % PARTS };
  }

  /** The number of the key that starts at `at`, or -1 if it certainly is none of the keys. */
  numberOf(hash: Uint32Array, at = 0): number {
    const size = this.#partSize;
    const a = vertexOf(hash[at]!, this.attempt, 0, size);
    const b = vertexOf(hash[at + 1]!, this.attempt, 1, size);
    const c = vertexOf(hash[at + 2]!, this.attempt, 2, size);
    const selected = (this.#valueOf(a) + this.#valueOf(b) + this.#valueOf(c)) % PARTS;
    const vertex = selected === 0 ? a : selected === 1 ? b : c;
    return this.#valueOf(vertex) === FREE ? -1 : this.#rankOf(vertex);
  }

  #valueOf(vertex: number): number {
    return (this.words[vertex >>> 4]! >>> ((vertex & 15) << 1)) & 3;
  }

  #rankOf(vertex: number): number {
    const { words } = this;
    const last = vertex >>> 4;
    const block = Math.floor(last / RANK_WORDS);
    let rank = this.#ranks[block]! + (vertex & 15);
    for (let at = block * RANK_WORDS; at < last; at++) rank += PAIRS_PER_WORD - countFree(words[at]!);
    return rank - countFree(words[last]! & ((1 << ((vertex & 15) << 1)) - 1));
  }

  /** Sums over all values of three vertices how often they select an assigned one. */
  #shareOfSelected(): number {
    const size = this.#partSize;
    const counts = Array.from({ length: PARTS }, () => [0, 0, 0, 0]);
    for (let vertex = 0; vertex < size * PARTS; vertex++) {
      counts[Math.floor(vertex / size)]![this.#valueOf(vertex)]!++;
    }
    let share = 0;
    for (let values = 0; values < 4 ** PARTS; values++) {
      const each = [values & 3, (values >>> 2) & 3, values >>> 4];
      if (each[(each[0]! + each[1]! + each[2]!) % PARTS] === FREE) continue;
      share += (counts[0]![each[0]!]! / size) * (counts[1]![each[1]!]! / size) * (counts[2]![each[2]!]! / size);
    }
    return share;
  }
}

function partSizeOf(keys: number): number {
  return Math.ceil((keys * VERTICES_PER_KEY) / PARTS) + SPARE_VERTICES;
}

/** The vertex of a key in one of the three parts; the word is mixed again (MurmurHash3) with the attempt. */
function vertexOf(word: number, attempt: number, part: number, partSize: number): number {
  let mixed = word ^ Math.imul(attempt, 0x9e37_79b9);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return part * partSize + Math.floor(((mixed ^ (mixed >>> 16)) >>> 0) * TWO_POW_MINUS_32 * partSize);
}

function packed(values: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(values.length / PAIRS_PER_WORD)).fill(0xffff_ffff);
  for (let vertex = 0; vertex < values.length; vertex++) {
    words[vertex >>> 4]! ^= (values[vertex]! ^ FREE) << ((vertex & 15) << 1);
  }
  return words;
}

/** Number of pairs of bits that are both set. */
function countFree(word: number): number {
  const pairs = word & (word >>> 1) & 0x5555_5555;
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
