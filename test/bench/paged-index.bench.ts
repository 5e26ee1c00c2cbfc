import { createPrng } from '../support/prng.ts';

export interface PagedIndexOptions {
  readonly chunks: number;
  readonly chunksPerPack: number;
  /** How many packs' lists of chunks are kept in memory. */
  readonly cachedPacks: number;
  /** How many chunks follow one another, on average, as they were stored. */
  readonly runLength: number;
  readonly lookups: number;
  readonly seed: number;
}

export interface PagedIndexResult {
  /** Look-ups of known chunks that had to read the index from disk, as a part of all. */
  readonly readsPerLookup: number;
}

/**
 * Simulates an LDM filter whose counters are in memory and whose entries are on disk, sorted by link position. A look-up
 * of a known chunk reads the page of its link position, and then keeps the list of all chunks of its pack, because the
 * next ones are probably wanted too (the locality-preserved cache of Zhu, Li and Patterson, "Avoiding the Disk Bottleneck
 * in the Data Domain Deduplication File System", FAST 2008). The least recently used list is given up for a new one.
 */
export function simulatePagedIndex(options: PagedIndexOptions): PagedIndexResult {
  const { chunks, chunksPerPack, cachedPacks, runLength, lookups, seed } = options;
  const prng = createPrng(seed);
  /** In the order of their last use. */
  const cached = new Set<number>();
  let reads = 0;
  let chunk = 0;
  for (let lookup = 0; lookup < lookups; lookup += 1) {
    const runEnds = lookup === 0 || prng.int(runLength) === 0 || chunk + 1 === chunks;
    chunk = runEnds ? prng.int(chunks) : chunk + 1;
    const pack = Math.floor(chunk / chunksPerPack);
    if (!cached.delete(pack)) reads += 1;
    cached.add(pack);
    if (cached.size > cachedPacks) cached.delete(cached.values().next().value!);
  }
  return { readsPerLookup: reads / lookups };
}
