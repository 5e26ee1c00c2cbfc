/** File systems keep no smaller holes. */
const HOLE_BYTES = 4096;
const ZEROS = Buffer.alloc(HOLE_BYTES);

/** A part of some bytes, from `start` up to `end`. */
export interface DataRun {
  readonly start: number;
  readonly end: number;
}

/**
 * What has to be written of `bytes`, which stand at `position` in a file, for all else to be holes: everything but
 * blocks of nothing but zeros.
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
