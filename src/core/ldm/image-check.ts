import { CorruptDataError } from '../errors.ts';
import { MAX_BLOCK_RAW_BYTES } from '../format/constants.ts';
import { COUNTER_BITS, COUNTER_MAX, CounterArray } from './counters.ts';
import { baseOf, LENGTH, NEXT, NIL, PACK, PAGE_ENTRIES, REFS } from './entry-table.ts';
import type { FilterParts } from './filter-parts.ts';
import { falsePositiveRate, MAX_CAPACITY, MAX_HASHES, MAX_POSITIONS, type FilterPlan } from './formulas.ts';
import { headOfLink, ID_WORDS, linkFrom, startOf, stepFrom, strideOf, isPrime } from './positions.ts';

/** The parts of a filter read from an image, with all pages in memory. */
export interface ImageParts extends FilterParts {
  readonly pages: readonly Uint32Array[];
}

/**
 * Verifies that `arrangeEntries` could have written the arrays of an image. A correct digest only shows that the bytes
 * are the written ones: following a chain with a cycle would never end, and a counter that is too low would hide a
 * chunk. Entries have exactly one valid order, so heads, chains and duplicates are verified in one pass over them.
 *
 * An image cannot show whether the chunks are in their packs (see `LocationCheck`) or how many references they have.
 * @throws CorruptDataError
 */
export function checkParts(parts: ImageParts, packCount: number): void {
  checkPlan(parts);
  const { plan, liveCount, deadCount, heads, deadHeads } = parts;
  const { positions, hashes } = plan;
  const weights = new Int32Array(1);
  checkChains(parts, packCount, {
    heads,
    start: 0,
    end: liveCount,
    keyOf: (page, base) => {
      const start = startOf(page, base, positions);
      const stride = strideOf(page, base, positions);
      weights[0]! += weightOfChunk(start, stride, plan);
      return linkFrom(start, stride, positions, hashes);
    },
    headOf: (link) => headOfLink(link, plan),
  });
  const shift = 32 - Math.log2(deadHeads.length);
  checkChains(parts, packCount, {
    heads: deadHeads,
    start: liveCount,
    end: liveCount + deadCount,
    keyOf: (page, base) => page[base + ID_WORDS - 1]! >>> shift,
    headOf: (head) => head,
  });
  checkCounters(parts, weights[0]!);
}

function checkPlan({ plan, liveCount, heads, deadHeads }: ImageParts): void {
  const { capacity, hashes, positions, fprTarget } = plan;
  if (!isWithin(hashes, MAX_HASHES)) fail(`${hashes} hashes are not possible`);
  if (!isWithin(capacity, MAX_CAPACITY)) fail(`a capacity of ${capacity} is not possible`);
  if (!isWithin(positions, MAX_POSITIONS) || !isPrime(positions)) fail(`${positions} positions are not possible`);
  if (heads.length !== capacity || liveCount > capacity) fail('the capacity does not match the chunks and chains');
  const isPowerOfTwo = Number.isInteger(Math.log2(deadHeads.length));
  if (deadHeads.length < 1024 || !isPowerOfTwo) fail('the number of dead chains is not possible');
  // The tolerance is for platforms whose logarithms differ in the last digit.
  const rate = falsePositiveRate(positions, capacity, hashes);
  if (!(fprTarget <= 1 && rate <= fprTarget * 1.001))
    fail(`a false positive rate of ${fprTarget} needs more positions`);
}

function isWithin(value: number, highest: number): boolean {
  return value >= 1 && value <= highest;
}

/** The chains of the live entries, or those of the dead ones. */
interface ChainKind {
  readonly heads: Uint32Array;
  readonly start: number;
  readonly end: number;
  /** Sort key of the entries; entries with equal keys are sorted by id. */
  readonly keyOf: (page: Uint32Array, base: number) => number;
  readonly headOf: (key: number) => number;
}

/** Follows the entries in order: each either starts the chain of its head or continues that of the preceding entry. */
function checkChains(parts: ImageParts, packCount: number, kind: ChainKind): void {
  const { pages, liveCount } = parts;
  const { heads, start, end, keyOf, headOf } = kind;
  let chainCount = 0;
  let lastKey = -1;
  let lastHead = -1;
  let lastPage = pages[0]!;
  let lastBase = 0;
  for (let entry = start; entry < end; entry += 1) {
    const page = pages[Math.floor(entry / PAGE_ENTRIES)]!;
    const base = baseOf(entry);
    if (page[base + PACK]! >= packCount) fail(`entry ${entry} names a pack that is not listed`);
    const length = page[base + LENGTH]!;
    if (length < 1 || length > MAX_BLOCK_RAW_BYTES) fail(`entry ${entry} has an impossible length`);
    if (page[base + REFS]! > 0 !== entry < liveCount)
      fail(`entry ${entry} is dead and has references, or the opposite`);
    const key = keyOf(page, base);
    const isInOrder = key > lastKey || (key === lastKey && isBefore(lastPage, lastBase, page, base));
    if (!isInOrder) fail(`entry ${entry} is out of order`);
    const head = headOf(key);
    if (head === lastHead) {
      if (lastPage[lastBase + NEXT] !== entry) fail(`entry ${entry} is not linked to its chain`);
    } else {
      if (heads[head] !== entry) fail(`entry ${entry} is not at the head of its chain`);
      if (entry > start && lastPage[lastBase + NEXT] !== NIL) fail(`the chain before entry ${entry} does not end`);
      chainCount += 1;
    }
    lastKey = key;
    lastHead = head;
    lastPage = page;
    lastBase = base;
  }
  if (end > start && lastPage[lastBase + NEXT] !== NIL) fail('the last chain does not end');
  if (countUsed(heads) !== chainCount) fail('a chain begins where it has no entries');
}

function isBefore(page: Uint32Array, base: number, otherPage: Uint32Array, otherBase: number): boolean {
  for (let word = 0; word < ID_WORDS; word += 1) {
    const difference = page[base + word]! - otherPage[otherBase + word]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function countUsed(heads: Uint32Array): number {
  let count = 0;
  for (let index = 0; index < heads.length; index += 1) if (heads[index] !== NIL) count += 1;
  return count;
}

/**
 * Verifies the counters against the live entries. Recounting would cost a cache miss for each position of each chunk.
 * Instead, every position has a pseudo-random weight, and the weighted sum of the counters must equal the sum of the
 * weights of all positions of the entries. If any counter is saturated, all are recounted.
 */
function checkCounters(parts: ImageParts, expectedWeights: number): void {
  const { counters, liveCount, plan } = parts;
  const unused = plan.positions % 2 === 0 ? 0 : counters.at(-1)! >>> COUNTER_BITS;
  if (unused !== 0) fail('there is a counter after the last position');
  let weights = 0;
  let total = 0;
  for (let index = 0; index < counters.length; index += 1) {
    const byte = counters[index]!;
    // Most are, in a repository that has grown little.
    if (byte === 0) continue;
    const low = byte & COUNTER_MAX;
    const high = byte >>> COUNTER_BITS;
    if (low === COUNTER_MAX || high === COUNTER_MAX) return checkByCounting(parts);
    total += low + high;
    weights = (weights + Math.imul(low, weightOf(2 * index)) + Math.imul(high, weightOf(2 * index + 1))) | 0;
  }
  const isRight = total === plan.hashes * liveCount && weights === expectedWeights;
  if (!isRight) fail('the counters do not match the chunks');
}

function weightOfChunk(start: number, stride: number, { hashes, positions }: FilterPlan): number {
  let weights = 0;
  let position = start;
  for (let left = hashes; left > 0; left -= 1) {
    weights = (weights + weightOf(position)) | 0;
    position = stepFrom(position, stride, positions);
  }
  return weights;
}

/** Differs for every position, and is not linear, so that errors do not cancel each other out. */
function weightOf(position: number): number {
  const mixed = Math.imul(position, 0x9e37_79b1);
  return mixed ^ (mixed >>> 15);
}

function checkByCounting({ counters, liveCount, pages, plan }: ImageParts): void {
  const { hashes, positions } = plan;
  const counted = new CounterArray(positions, hashes);
  for (let entry = 0; entry < liveCount; entry += 1) {
    const page = pages[Math.floor(entry / PAGE_ENTRIES)]!;
    const base = baseOf(entry);
    counted.add(startOf(page, base, positions), strideOf(page, base, positions));
  }
  if (Buffer.compare(counted.bytes, counters) !== 0) fail('the counters do not match the chunks');
}

function fail(problem: string): never {
  throw new CorruptDataError(`checkpoint: ${problem}`);
}
