import { cutBeforeEnd } from './chunker.ts';
import type { Chunker, ChunkerParameters } from './chunker.ts';

const KIB = 1024;

/** Average length of the chunks into which a changed chunk of a large file is cut. */
export const SMALL_CHUNK_BYTES: number = 64 * KIB;

const SMALL_FASTCDC: ChunkerParameters = {
  kind: 'fastcdc',
  minSizeBytes: 16 * KIB,
  averageSizeBytes: SMALL_CHUNK_BYTES,
  maxSizeBytes: 256 * KIB,
};

/** Chunks must be this many times larger, or cutting them again gains little for the entries that it costs. */
const LEAST_RATIO = 4;

/** Returns how the chunks of a repository are cut again. Undefined if they are small already. */
export function smallChunksOf(parameters: ChunkerParameters): ChunkerParameters | undefined {
  if (parameters.kind === 'fixed') {
    const divides = parameters.sizeBytes % SMALL_CHUNK_BYTES === 0;
    return divides && parameters.sizeBytes >= LEAST_RATIO * SMALL_CHUNK_BYTES
      ? { kind: 'fixed', sizeBytes: SMALL_CHUNK_BYTES }
      : undefined;
  }
  return parameters.averageSizeBytes >= LEAST_RATIO * SMALL_CHUNK_BYTES ? SMALL_FASTCDC : undefined;
}

/** Cuts a chunk again, into small ones. Returns parts of `chunk`: they depend on nothing else. */
export function* cutSmall(chunker: Chunker, chunk: Uint8Array): Generator<Uint8Array> {
  const { buffer } = chunker;
  let begin = 0;
  // Often only the first part is needed. Copying all of the chunk would take longer than to hash that part.
  let windowBytes = chunker.maxSizeBytes;
  while (begin < chunk.length) {
    const window = chunk.subarray(begin, begin + windowBytes);
    windowBytes = buffer.length;
    buffer.set(window);
    const isLast = begin + window.length === chunk.length;
    let start = 0;
    while (start < window.length) {
      const length = isLast ? chunker.cut(start, window.length) : (cutBeforeEnd(chunker, start, window.length) ?? 0);
      if (length === 0) break;
      yield window.subarray(start, start + length);
      start += length;
    }
    begin += start;
  }
}
