import { FilterFullError } from '../../core/errors.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { murmur3 } from '../../core/util/murmur3.ts';
import { HASH_WORDS } from './hash-list.ts';
import { assertHashed, type IdHash, type IdHashOption } from './id-hash.ts';
import type { ErasableFilter } from './membership-filter.ts';
import { traceOfRun } from './expandable-trace.ts';
import { QuotientTable } from './quotient-table.ts';
import type { SlotTrace } from './trace.ts';
import {
  canDouble,
  expandableShapeOf,
  isExpandableShape,
  lengthIn,
  lengthOf,
  roomOf,
  type ExpandableShape,
} from './expandable-shape.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';
import type { CapacityOptions } from './sizing.ts';

const SEED = 0;
/** So many fingerprints in one run are copies of one id. */
const RUN_MAX = 200;

/**
 * Expandable filter: a quotient filter that doubles its slots when four of five are taken, without the ids. A fingerprint
 * is a prefix of the hash of its id: the first part is the number of its home slot, the rest is stored, after a bit that
 * marks its length. When the slots double, the first stored bit becomes the last one of the number of the home.
 * Fingerprints that are added later are longer: F = f + 2 log2(g + 1) bits, rounded up, after g doublings, so the rate
 * stays below its target however often it doubles. A fingerprint without bits left is stored in both of its new homes.
 *
 * FPR `1 - prod(1 - 2^-l / b)` over the stored fingerprints of l bits in b slots; by design at most 1.26 (4/5) 2^-f.
 * Memory: F + 4 bits per slot, of which 2/5 to 4/5 are taken after the first doubling. An id that is added more than once
 * is stored more than once.
 *
 * A delete removes the longest fingerprint that is a prefix of the hash. It may be that of another id. Then the shorter
 * one of the deleted id is a prefix of it, hence one of that other id too, which so is still found. Copies of a
 * fingerprint without bits remain in the other homes and only cost space: at most as many as the rate says.
 *
 * Source: Dayan, Bercea, Reviriego, Pagh: "InfiniFilter: Expanding Filters to Infinity and Beyond" (SIGMOD 2023), for
 * lengths and deletes; Dayan, Bercea, Pagh: "Aleph Filter: To Infinity in Constant Time" (PVLDB 17, 2024), for the
 * copies. Here, the first number of slots need not be a power of two.
 */
export class ExpandableFilter implements ErasableFilter {
  readonly name = 'expandable';
  readonly #shape: ExpandableShape;
  readonly #idHash: IdHash;
  readonly #hash: Uint32Array = new Uint32Array(HASH_WORDS);
  #generation: number;
  #table: QuotientTable;
  #elements = 0;
  /** How many fingerprints have each length. */
  #lengths: Float64Array = new Float64Array(32);
  #entries = 0;
  /** Home and fingerprint of the current id; the fingerprint has its full length, with the leading bit. */
  #home = 0;
  #key = 0;

  private constructor(shape: ExpandableShape, idHash: IdHash = murmur3, generation = 0, words?: Uint32Array) {
    this.#shape = shape;
    this.#generation = generation;
    this.#idHash = idHash;
    this.#table = new QuotientTable(shape.firstHomes * 2 ** generation, valueBitsOf(shape, generation), words);
  }

  /**
   * @param options.capacity - number of ids before the first doubling
   * @throws UsageError if the rate is below 7.7e-6, or the capacity above 200 million
   */
  static forCapacity(options: CapacityOptions & IdHashOption): ExpandableFilter {
    refuseBigEndian();
    return new ExpandableFilter(expandableShapeOf(options), options.idHash);
  }

  /** @throws CorruptDataError if `save` did not write the bytes */
  static load(bytes: Uint8Array): ExpandableFilter {
    refuseBigEndian();
    const { numbers, arrays } = decodeSaved('expandable', bytes);
    const [firstHomes, baseBits, generation, elements] = numbers as [number, number, number, number];
    const isPlausible =
      numbers.length === 4 && arrays.length === 1 && isExpandableShape(firstHomes, baseBits, generation);
    checkSaved(isPlausible, 'expandable', 'its numbers are inconsistent');
    const shape = { firstHomes, baseBits };
    const wordCount = QuotientTable.wordCount(firstHomes * 2 ** generation, valueBitsOf(shape, generation));
    checkSaved(arrays[0]!.length === wordCount * 4, 'expandable', 'its slots do not match its numbers');
    const filter = new ExpandableFilter(shape, murmur3, generation, new Uint32Array(arrays[0]!.buffer));
    checkSaved(filter.#table.isConsistent(), 'expandable', 'its slots are inconsistent');
    filter.#table.forEach((_home, value) => filter.#count(lengthOf(value), 1));
    const stored = filter.#entries;
    const fits = stored <= roomOf(filter.#table.homes) && isWholeNumber(elements, Math.min(1, stored), stored);
    checkSaved(fits, 'expandable', 'its number of ids does not match its slots');
    filter.#elements = elements;
    return filter;
  }

  get elements(): number {
    return this.#elements;
  }

  get memoryBytes(): number {
    return this.#table.words.byteLength;
  }

  /** g: how often its slots have doubled. */
  get doublings(): number {
    return this.#generation;
  }

  /**
   * Adds a copy of an id, and doubles the slots before if four of five are taken.
   * @throws FilterFullError if there are 200 million ids, or 200 copies of this one; the filter is unchanged then
   */
  add(id: Uint8Array): void {
    if (this.#entries >= roomOf(this.#table.homes)) this.#expand();
    this.#locate(id);
    if (this.#runLength() >= RUN_MAX) throw fullError(`it has ${RUN_MAX} copies of one id`);
    this.#table.insert(this.#home, this.#key);
    this.#count(lengthOf(this.#key), 1);
    this.#elements++;
  }

  has(id: Uint8Array): boolean {
    this.#locate(id);
    return this.#longestMatch() >= 0;
  }

  /**
   * Deletes one copy and returns true, or returns false if no fingerprint matches. Delete only ids that were added:
   * deleting a false positive removes the fingerprint of another id.
   */
  delete(id: Uint8Array): boolean {
    this.#locate(id);
    const slot = this.#longestMatch();
    if (slot < 0) return false;
    this.#count(lengthOf(this.#table.valueAt(slot)), -1);
    this.#table.remove(this.#home, slot);
    this.#elements--;
    if (this.#elements === 0) this.#clear();
    return true;
  }

  /** What `has` reads for an id: the run of its home. */
  trace(id: Uint8Array): SlotTrace {
    this.#locate(id);
    return traceOfRun(this.#table, this.#home, this.#key, this.#longestMatch());
  }

  falsePositiveRate(): number {
    let logOfNone = 0;
    for (const [length, count] of this.#lengths.entries()) {
      logOfNone += count * Math.log1p(-(2 ** -length) / this.#table.homes);
    }
    return -Math.expm1(logOfNone) || 0;
  }

  save(): Uint8Array {
    assertHashed(this.#idHash);
    const { firstHomes, baseBits } = this.#shape;
    const numbers = [firstHomes, baseBits, this.#generation, this.#elements];
    return encodeSaved('expandable', numbers, [bytesOver(this.#table.words)]);
  }

  #count(length: number, change: number): void {
    this.#lengths[length]! += change;
    this.#entries += change;
  }

  /** The hash is a number of a first slot, and after it 64 bits, of which a doubling moves one to the number. */
  #locate(id: Uint8Array): void {
    this.#idHash(id, SEED, this.#hash);
    const [first, high, low] = this.#hash as unknown as readonly [number, number, number];
    const moved = this.#generation;
    const firstHome = Math.floor(first * 2 ** -32 * this.#shape.firstHomes);
    this.#home = moved === 0 ? firstHome : firstHome * 2 ** moved + (high >>> (32 - moved));
    const rest = moved === 0 ? high : (high << moved) | (low >>> (32 - moved));
    const length = lengthIn(this.#shape.baseBits, moved);
    this.#key = (1 << length) | (rest >>> (32 - length));
  }

  #longestMatch(): number {
    const table = this.#table;
    const keyLength = lengthOf(this.#key);
    let found = -1;
    let foundValue = 0;
    for (let slot = table.runOf(this.#home); slot >= 0; slot = table.next(slot)) {
      const value = table.valueAt(slot);
      // With its leading bit, a longer prefix is a larger number.
      if (value <= foundValue || this.#key >>> (keyLength - lengthOf(value)) !== value) continue;
      found = slot;
      foundValue = value;
    }
    return found;
  }

  #runLength(): number {
    let length = 0;
    for (let slot = this.#table.runOf(this.#home); slot >= 0; slot = this.#table.next(slot)) length++;
    return length;
  }

  #expand(): void {
    const old = this.#table;
    if (!canDouble(old.homes, this.#generation)) {
      throw fullError(`it has ${this.#entries} fingerprints and cannot double again`);
    }
    this.#generation++;
    this.#clear();
    old.forEach((home, value) => {
      const length = lengthOf(value);
      if (length === 0) {
        for (const each of [0, 1]) this.#table.insert(home * 2 + each, value);
        this.#count(0, 2);
        return;
      }
      const shorter = 1 << (length - 1);
      this.#table.insert(home * 2 + ((value & shorter) === 0 ? 0 : 1), shorter | (value & (shorter - 1)));
      this.#count(length - 1, 1);
    });
  }

  #clear(): void {
    const generation = this.#generation;
    const homes = this.#shape.firstHomes * 2 ** generation;
    this.#table = new QuotientTable(homes, valueBitsOf(this.#shape, generation));
    this.#lengths = new Float64Array(this.#lengths.length);
    this.#entries = 0;
  }
}

/** With a leading bit, which marks the length. */
function valueBitsOf({ baseBits }: ExpandableShape, generation: number): number {
  return lengthIn(baseBits, generation) + 1;
}

function fullError(problem: string): FilterFullError {
  return new FilterFullError(`the expandable filter is full: ${problem}`, {
    hint: 'Distribute the ids over several filters, and do not add the same id again and again.',
  });
}
