import { isZero } from '../util/zero-bytes.ts';

/**
 * How files are split into chunks. Part of the configuration of a repository: different parameters give different
 * chunks, which cannot be deduplicated against each other.
 */
export type ChunkerParameters =
  | {
      readonly kind: 'fastcdc';
      readonly minSizeBytes: number;
      /** A power of two. */
      readonly averageSizeBytes: number;
      readonly maxSizeBytes: number;
    }
  | { readonly kind: 'fixed'; readonly sizeBytes: number };

export type FastCdcParameters = Extract<ChunkerParameters, { kind: 'fastcdc' }>;
export type FixedParameters = Extract<ChunkerParameters, { kind: 'fixed' }>;

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_CHUNKER: ChunkerParameters = {
  kind: 'fastcdc',
  minSizeBytes: 256 * KIB,
  averageSizeBytes: MIB,
  maxSizeBytes: 4 * MIB,
};

/**
 * Finds chunk boundaries. It does not read: the caller fills `buffer` from a stream, asks for one cut after another,
 * and moves the rest to the front before reading more.
 */
export interface Chunker {
  /** Maximum length of a chunk. */
  readonly maxSizeBytes: number;
  /** A file of at most this many bytes is a single chunk, regardless of its content. */
  readonly minSizeBytes: number;
  /**
   * The caller writes its input here; at least 2 x `maxSizeBytes` long, and allocated on first access. A WebAssembly
   * chunker exposes its memory, so that reads go there directly.
   */
  readonly buffer: Uint8Array;
  /**
   * Returns the length of the first chunk of `buffer[start, end)`, where `end > start`, assuming that the stream ends
   * at `end`. More data changes the result only if it is `end - start` and less than `maxSizeBytes`. Stateless: the
   * result depends only on these bytes.
   */
  cut(start: number, end: number): number;
}

/** Like `Chunker.cut`, in the middle of a stream: undefined if the chunk may continue past `end`. */
export function cutBeforeEnd(chunker: Chunker, start: number, end: number): number | undefined {
  const lengthBytes = chunker.cut(start, end);
  return lengthBytes < end - start || lengthBytes === chunker.maxSizeBytes ? lengthBytes : undefined;
}

/**
 * Returns how many chunks of zeros come next in the buffer, if the cut of an earlier one was `lengthBytes` long; 0 if
 * that is 0. In a run of zeros each cut is like the last one until the end of the run matters, so callers cut and hash
 * zeros once: a backup of a hole of 10 GiB takes 2.1 s of CPU time instead of 15.2 s.
 */
export function zeroChunksIn(chunker: Chunker, start: number, end: number, lengthBytes: number): number {
  if (lengthBytes === 0) return 0;
  const { buffer, maxSizeBytes } = chunker;
  // More data may change the cut of a chunk that ends with the buffer, unless it is as long as a chunk can be.
  const lastEnd = lengthBytes === maxSizeBytes ? end : end - 1;
  let count = 0;
  for (let at = start; at + lengthBytes <= lastEnd; at += lengthBytes) {
    if (!isZero(buffer.subarray(at, at + lengthBytes))) break;
    count += 1;
  }
  return count;
}

/**
 * Size of `Chunker.buffer`: room for the current chunk and another one of maximum length. A larger buffer would save
 * moves of the rest to the front (half a chunk each) but cost memory. At least 1 MiB, because small reads are slow.
 */
export function bufferSizeBytesFor(maxSizeBytes: number): number {
  return Math.max(2 * maxSizeBytes, MIB);
}
