import type { ChunkerParameters } from '../chunking/chunker.ts';
import { DEFAULT_CHUNKER } from '../chunking/chunker.ts';
import type { Capacity } from './option-values.ts';

const DEFAULT_FIXED_SIZE_BYTES = 64 * 2 ** 20;
/** The minimum and maximum chunk sizes of FastCDC are the average divided and multiplied by this. */
const SPREAD = 4;

/** Returns the chunker for `--chunker` and `--chunk-size`. */
export function chunkerOf(kind: 'fastcdc' | 'fixed', chunkSizeBytes: number | undefined): ChunkerParameters {
  if (kind === 'fixed') return { kind, sizeBytes: chunkSizeBytes ?? DEFAULT_FIXED_SIZE_BYTES };
  if (chunkSizeBytes === undefined) return DEFAULT_CHUNKER;
  return {
    kind,
    minSizeBytes: Math.floor(chunkSizeBytes / SPREAD),
    averageSizeBytes: chunkSizeBytes,
    maxSizeBytes: chunkSizeBytes * SPREAD,
  };
}

/** Returns n_max for `--capacity`. A size is divided by the average chunk size. */
export function capacityOf(capacity: Capacity, chunker: ChunkerParameters): number {
  if ('chunkCount' in capacity) return capacity.chunkCount;
  return Math.ceil(capacity.sizeBytes / (chunker.kind === 'fixed' ? chunker.sizeBytes : chunker.averageSizeBytes));
}
