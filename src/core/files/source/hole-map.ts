import { NO_HOLES } from '../../format/tree/tree-entry.ts';
import { errnoOfResult } from '../native/native-attributes.ts';
import { nativeCalls } from '../native/native.ts';

/** More holes are not recorded: each takes 16 bytes in the tree of the directory. */
const HOLES_MAX = 2 ** 20;

/**
 * Returns the holes of an open file of `sizeBytes`; see `EntryAttributes.holes`. Moves the position in the file. If there
 * are too many, `onTooMany` is called, and the first of them are returned.
 */
export function readHoleMap(descriptor: number, sizeBytes: number, onTooMany: () => void): Float64Array {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined) return NO_HOLES;
  const numbers: number[] = [];
  for (let position = 0; position < sizeBytes;) {
    // Most files have no hole, and then this is the only call.
    const start = calls.seek(descriptor, position, 'hole');
    if (start < 0 || start >= sizeBytes) break;
    if (numbers.length === 2 * HOLES_MAX) {
      onTooMany();
      break;
    }
    const found = calls.seek(descriptor, start, 'data');
    if (found < 0 && errnoOfResult(found) !== 'ENXIO') break;
    // Without data after it, the hole reaches to the end. A file that shrinks meanwhile is noticed by its times.
    const end = found < 0 ? sizeBytes : Math.min(found, sizeBytes);
    if (end <= start) break;
    numbers.push(start, end);
    position = end;
  }
  return numbers.length === 0 ? NO_HOLES : Float64Array.from(numbers);
}

/** Returns the ranges that are holes in both maps. */
export function commonHoles(one: Float64Array, other: Float64Array): Float64Array {
  const numbers: number[] = [];
  for (let a = 0, b = 0; a < one.length && b < other.length;) {
    const start = Math.max(one[a]!, other[b]!);
    const end = Math.min(one[a + 1]!, other[b + 1]!);
    if (start < end) numbers.push(start, end);
    if (end === one[a + 1]) a += 2;
    else b += 2;
  }
  return numbers.length === 0 ? NO_HOLES : Float64Array.from(numbers);
}

/** Returns the holes of a file of which `sizeBytes` were saved: it may have become shorter since its holes were read. */
export function holesWithin(holes: Float64Array, sizeBytes: number): Float64Array {
  if (holes.length === 0 || holes.at(-1)! <= sizeBytes) return holes;
  const count = holes.findIndex((position) => position >= sizeBytes);
  if (count % 2 === 0) return holes.subarray(0, count);
  // The last hole begins within the file.
  const cut = holes.slice(0, count + 1);
  cut[count] = sizeBytes;
  return cut;
}
