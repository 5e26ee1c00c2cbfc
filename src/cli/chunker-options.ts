import type { ChunkerParameters } from '../chunking/chunker.ts';
import { DEFAULT_CHUNKER } from '../chunking/chunker.ts';
import type { Capacity } from './option-values.ts';

const DEFAULT_FIXED_SIZE_BYTES = 64 * 2 ** 20;
/** The smallest and the largest chunk of FastCDC lie this factor away from the average. */
const SPREAD = 4;

/** The chunker that `--chunker` and `--chunk-size` ask for. */
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

/** n_max for `--capacity`; a size is counted in chunks of the average size. */
export function capacityOf(capacity: Capacity, chunker: ChunkerParameters): number {
  if ('chunkCount' in capacity) return capacity.chunkCount;
  return Math.ceil(capacity.sizeBytes / (chunker.kind === 'fixed' ? chunker.sizeBytes : chunker.averageSizeBytes));
}
