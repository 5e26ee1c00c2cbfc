/** No file system has smaller holes. */
const HOLE_BYTES = 4096;
const ZEROS = Buffer.alloc(HOLE_BYTES);

/** A range of bytes from `start` (inclusive) to `end` (exclusive). */
export interface DataRun {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the ranges of `bytes` that must be written so that the rest can become holes: everything except blocks of
 * zeros. `position`: the offset of `bytes` in the file.
 */
export function* dataRuns(bytes: Uint8Array, position: number): Generator<DataRun> {
  let start = 0;
  let end = 0;
  for (let offset = 0; offset < bytes.length; offset = end) {
    end = Math.min(bytes.length, offset + HOLE_BYTES - ((position + offset) % HOLE_BYTES));
    if (Buffer.compare(bytes.subarray(offset, end), ZEROS.subarray(0, end - offset)) !== 0) continue;
    if (start < offset) yield { start, end: offset };
    start = end;
  }
  if (start < end) yield { start, end };
}
