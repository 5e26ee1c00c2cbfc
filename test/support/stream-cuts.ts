import type { Chunker } from '../../src/core/chunking/chunker.ts';

export interface StreamStyle {
  /** How many bytes the next read returns at most. Default: as many as fit. */
  readonly readSizeBytes?: () => number;
  /** Where in the buffer the stream begins. Default: 0. */
  readonly startOffset?: number;
}

/** Sends `data` through the chunker's buffer as a caller with a file would, and returns the offset at which each chunk ends. */
export function streamCuts(chunker: Chunker, data: Uint8Array, style: StreamStyle = {}): number[] {
  const { readSizeBytes = () => Infinity, startOffset = 0 } = style;
  const { buffer, maxSizeBytes } = chunker;
  const cuts: number[] = [];
  let readCount = 0;
  let cutCount = 0;
  let start = startOffset;
  let end = startOffset;
  while (cutCount < data.length) {
    while (end - start < maxSizeBytes && readCount < data.length) {
      if (end === buffer.length) {
        buffer.copyWithin(startOffset, start, end);
        end = startOffset + end - start;
        start = startOffset;
      }
      const count = Math.min(readSizeBytes(), data.length - readCount, buffer.length - end);
      buffer.set(data.subarray(readCount, readCount + count), end);
      readCount += count;
      end += count;
    }
    const length = chunker.cut(start, end);
    start += length;
    cutCount += length;
    cuts.push(cutCount);
  }
  return cuts;
}
