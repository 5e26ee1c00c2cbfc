import assert from 'node:assert/strict';
import { bufferSizeBytesFor } from './chunker.ts';
import type { Chunker, FixedParameters } from './chunker.ts';

/**
 * Chunks of exactly `sizeBytes`, except for the last one of a stream. For data that changes in place, such as disk
 * images and databases.
 */
export function createFixedChunker(parameters: FixedParameters): Chunker {
  const { sizeBytes } = parameters;
  let allocated: Uint8Array | undefined;

  return {
    minSizeBytes: sizeBytes,
    maxSizeBytes: sizeBytes,
    get buffer(): Uint8Array {
      allocated ??= new Uint8Array(bufferSizeBytesFor(sizeBytes));
      return allocated;
    },
    cut(start: number, end: number): number {
      assert(start >= 0 && start < end && end <= this.buffer.length);
      return Math.min(end - start, sizeBytes);
    },
  };
}
