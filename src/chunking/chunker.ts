/** How files are cut into chunks. Part of a repository's configuration: other parameters mean other chunks, so nothing is shared. */
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
 * Finds where chunks end. It does not read: the caller puts a stream into `buffer`, asks for one cut after another,
 * and moves what is left to the front before it reads on.
 */
export interface Chunker {
  /** No chunk is longer than this. */
  readonly maxSizeBytes: number;
  /** A file of at most this many bytes is one chunk, without looking at its bytes. */
  readonly minSizeBytes: number;
  /**
   * Where the caller puts bytes before it asks for cuts; at least 2 x `maxSizeBytes` long. Allocated when it is first
   * asked for. For WebAssembly this is its memory, so that reads go straight there.
   */
  readonly buffer: Uint8Array;
  /**
   * The length of the first chunk of `buffer[start, end)`, where `end > start`, if the stream ends at `end`. What
   * follows changes it only if it is `end - start`, and that less than `maxSizeBytes`. Stateless: the answer depends on
   * these bytes only.
   */
  cut(start: number, end: number): number;
}

/** As `Chunker.cut`, in the middle of a stream: undefined where the chunk could be longer than `buffer[start, end)`. */
export function cutBeforeEnd(chunker: Chunker, start: number, end: number): number | undefined {
  const lengthBytes = chunker.cut(start, end);
  return lengthBytes < end - start || lengthBytes === chunker.maxSizeBytes ? lengthBytes : undefined;
}

/**
 * How long `Chunker.buffer` is: room for the longest chunk behind one that is being cut. More would spare moves of the
 * rest to the front, which is half a chunk, and cost memory. Not below 1 MiB, because reads of a few bytes are slow.
 */
export function bufferSizeBytesFor(maxSizeBytes: number): number {
  return Math.max(2 * maxSizeBytes, MIB);
}
