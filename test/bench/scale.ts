import { runFilterBench } from './filter.bench.ts';
import { simulatePagedIndex } from './paged-index.bench.ts';

/** The figures of docs/scale.md that this machine can compute. They are the same everywhere, but for the times. */
const PAGED_LOOKUPS = 1_000_000;
const RUN_LENGTHS: readonly number[] = [1, 8, 64, 1024];
const CHUNKS_PER_PACK = 32;

/** A row of the table of the filter, as it is in the document. */
export function filterRow(chunks: number): string[] {
  const result = runFilterBench(chunks);
  const microseconds = (nanoseconds: number): string => `${(nanoseconds / 1000).toFixed(1)} µs`;
  return [
    chunks.toLocaleString('en'),
    result.memoryBytesPerChunk.toFixed(1),
    microseconds((result.buildSeconds / chunks) * 1e9),
    microseconds(result.hitNanoseconds),
    microseconds(result.missNanoseconds),
    `${(result.fprMeasured * 100).toFixed(2)} %`,
    String(result.longestChain),
  ];
}

/** A row of the table of the paged index: reads for each look-up by the length of the runs. */
export function pagedRow(chunks: number): string[] {
  const cachedPacks = Math.round(chunks / CHUNKS_PER_PACK / 1000);
  const reads = RUN_LENGTHS.map((runLength) => {
    const options = { chunks, chunksPerPack: CHUNKS_PER_PACK, cachedPacks, runLength, lookups: PAGED_LOOKUPS, seed: 1 };
    return simulatePagedIndex(options).readsPerLookup.toFixed(3);
  });
  return [chunks.toLocaleString('en'), ...reads];
}
