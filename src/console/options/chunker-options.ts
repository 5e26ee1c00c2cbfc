import type { ChunkerParameters } from '../../core/chunking/chunker.ts';
import { DEFAULT_CHUNKER } from '../../core/chunking/chunker.ts';
import { UsageError } from '../../core/errors.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Capacity } from './option-values.ts';

const DEFAULT_FIXED_SIZE_BYTES = 64 * 2 ** 20;
/** The minimum and maximum chunk sizes of FastCDC are the average divided and multiplied by this. */
const SPREAD = 4;
/** The limits of chunk sizes are 64 bytes and 1 GiB. */
const SMALLEST_AVERAGE_BYTES = 64 * SPREAD;
const LARGEST_AVERAGE_BYTES = 2 ** 30 / SPREAD;

/** Returns the chunker for `--chunker` and `--chunk-size`. */
export function chunkerOf(kind: 'fastcdc' | 'fixed', chunkSizeBytes: number | undefined): ChunkerParameters {
  if (kind === 'fixed') return { kind, sizeBytes: chunkSizeBytes ?? DEFAULT_FIXED_SIZE_BYTES };
  if (chunkSizeBytes === undefined) return DEFAULT_CHUNKER;
  if (chunkSizeBytes < SMALLEST_AVERAGE_BYTES || chunkSizeBytes > LARGEST_AVERAGE_BYTES) {
    throw new UsageError(`--chunk-size cannot be ${formatBytes(chunkSizeBytes)} with fastcdc`, {
      hint: `Choose a power of two from ${formatBytes(SMALLEST_AVERAGE_BYTES)} to ${formatBytes(LARGEST_AVERAGE_BYTES)}.`,
    });
  }
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
