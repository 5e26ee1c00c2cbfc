/**
 * Copies `source` into `target` at `offset`. `fill` is a memcpy; `set` copies byte by byte into shared memory if the
 * alignments differ (chunks of 20 KB: 13 versus 3 GB/s).
 */
export function copyBytes(target: Buffer, source: Uint8Array, offset: number): void {
  if (source.length > 0) target.fill(source, offset, offset + source.length);
}
