/** No file system has smaller holes. */
const HOLE_BYTES = 4096;
const ZEROS = Buffer.alloc(HOLE_BYTES);

/** A range of bytes from `start` (inclusive) to `end` (exclusive). */
interface DataRun {
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

/**
 * Returns the ranges of `bytes` that must be written so that the rest can become holes where the file had holes; see
 * `EntryAttributes.holes`. The bytes decide: what is not zero is written, whatever the holes say.
 */
export function dataRunsBetween(holes: Float64Array, bytes: Uint8Array, position: number): readonly DataRun[] {
  const runs: DataRun[] = [];
  let start = 0;
  for (let index = firstHoleAfter(holes, position); index < holes.length; index += 2) {
    const holeStart = Math.max(0, holes[index]! - position);
    if (holeStart >= bytes.length) break;
    const holeEnd = Math.min(bytes.length, holes[index + 1]! - position);
    if (!areZeros(bytes.subarray(holeStart, holeEnd))) continue;
    if (start < holeStart) runs.push({ start, end: holeStart });
    start = holeEnd;
  }
  if (start < bytes.length) runs.push({ start, end: bytes.length });
  return runs;
}

/** Returns the index of the first hole that ends after a position. */
function firstHoleAfter(holes: Float64Array, position: number): number {
  let low = 0;
  let high = holes.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holes[2 * middle + 1]! > position) high = middle;
    else low = middle + 1;
  }
  return 2 * low;
}

export function areZeros(bytes: Uint8Array): boolean {
  for (let offset = 0; offset < bytes.length; offset += HOLE_BYTES) {
    const part = bytes.subarray(offset, offset + HOLE_BYTES);
    if (Buffer.compare(part, ZEROS.subarray(0, part.length)) !== 0) return false;
  }
  return true;
}
