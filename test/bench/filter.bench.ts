import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { planFilter } from '../../src/core/ldm/formulas.ts';
import { LdmFilter, NO_ENTRY } from '../../src/core/ldm/ldm-filter.ts';

/** Times are processor times: the work is one thread that never waits, and other programs disturb them less. */
export interface FilterBenchResult {
  readonly elements: number;
  /** Looked up, inserted and retained one by one from the default capacity on, with all the growing that takes. */
  readonly buildSeconds: number;
  /** The same where the capacity is known beforehand, as a fold of segments knows it. */
  readonly buildReservedSeconds: number;
  readonly hitNanoseconds: number;
  readonly missNanoseconds: number;
  /** Look-up and release, in random order. */
  readonly releaseNanoseconds: number;
  readonly rebuildSeconds: number;
  /** Entries, counters and chain heads by the filter's own account. */
  readonly memoryBytesPerChunk: number;
  /** The same as the process sees it: how much its array buffers grew. */
  readonly processBytesPerChunk: number;
  readonly fprPredicted: number;
  readonly fprMeasured: number;
  readonly longestChain: number;
}

const ID_BYTES = 20;
const LOCATION = { packIndex: 1, blockOffset: 1 << 20, offsetInBlock: 0, lengthBytes: 1 << 20, storedBytes: 1 << 19 };

/** Builds a filter of `elements` live chunks, looks up as many that are there and as many that are not, and releases all. */
export function runFilterBench(elements: number): FilterBenchResult {
  const buildReservedSeconds = timeReservedBuild(elements);
  const bytesBefore = arrayBufferBytes();
  const [filter, buildSeconds] = time(() => build(elements));
  const processBytes = arrayBufferBytes() - bytesBefore;
  const memoryBytes = filter.memoryBytes;
  const [hits, hitSeconds] = time(() => countFound(filter, elements, 0));
  const [misses, missSeconds] = time(() => elements - countFound(filter, elements, elements));
  assert(hits === elements && misses === elements);
  const { fprPredicted, fprMeasured, chains } = filter.statistics();
  const [, rebuildSeconds] = time(() => filter.rebuildCounters());
  const [, releaseSeconds] = time(() => releaseAll(filter, elements));
  assert(filter.liveCount === 0 && filter.deadCount === elements);
  return {
    elements,
    buildSeconds,
    buildReservedSeconds,
    hitNanoseconds: (hitSeconds / elements) * 1e9,
    missNanoseconds: (missSeconds / elements) * 1e9,
    releaseNanoseconds: (releaseSeconds / elements) * 1e9,
    rebuildSeconds,
    memoryBytesPerChunk: memoryBytes / elements,
    processBytesPerChunk: processBytes / elements,
    fprPredicted,
    fprMeasured,
    longestChain: chains.max,
  };
}

/** In a function of its own, so that nothing keeps this filter while the next one's memory is measured. */
function timeReservedBuild(elements: number): number {
  return time(() => build(elements, elements))[1];
}

function build(elements: number, capacity?: number): LdmFilter {
  const filter = new LdmFilter(planFilter({ capacity }));
  const id = new Uint8Array(ID_BYTES);
  for (let chunk = 0; chunk < elements; chunk++) {
    writeId(chunk, id);
    assert(filter.find(id, 0) === NO_ENTRY);
    filter.retain(filter.insert(id, 0, LOCATION));
  }
  return filter;
}

function countFound(filter: LdmFilter, elements: number, firstChunk: number): number {
  const id = new Uint8Array(ID_BYTES);
  let found = 0;
  forEachShuffled(elements, (chunk) => {
    writeId(firstChunk + chunk, id);
    if (filter.find(id, 0) !== NO_ENTRY) found++;
  });
  return found;
}

function releaseAll(filter: LdmFilter, elements: number): void {
  const id = new Uint8Array(ID_BYTES);
  forEachShuffled(elements, (chunk) => {
    writeId(chunk, id);
    filter.release(filter.find(id, 0));
  });
}

/** Visits 0 to count - 1 once each with long jumps, so that no look-up finds its entry in the processor's cache. */
function forEachShuffled(count: number, visit: (chunk: number) => void): void {
  let stride = Math.floor(count * 0.618_033_988_75) | 1;
  while (greatestCommonDivisor(stride, count) > 1) stride += 2;
  for (let index = 0, chunk = 0; index < count; index++) {
    visit(chunk);
    chunk = (chunk + stride) % count;
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** The id of a chunk from its number: ids of ten million chunks in a buffer would be part of what is measured. */
function writeId(chunk: number, id: Uint8Array): void {
  for (let word = 0; word < ID_BYTES / 4; word++) {
    // The finalizer of MurmurHash3: a permutation of all words, so that ids differ.
    let mixed = Math.imul(chunk * 5 + word, 0x9e37_79b1);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    mixed ^= mixed >>> 16;
    id[word * 4] = mixed;
    id[word * 4 + 1] = mixed >>> 8;
    id[word * 4 + 2] = mixed >>> 16;
    id[word * 4 + 3] = mixed >>> 24;
  }
}

function arrayBufferBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  // Twice: buffers that one collection finds dead may be given back by the next.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

function time<T>(work: () => T): [T, number] {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [result, (user + system) / 1e6];
}
