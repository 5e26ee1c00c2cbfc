import { UsageError } from '../../core/errors.ts';
import { type ByteString, byteStringFromBytes } from '../../core/util/byte-string.ts';

/** Where a file is in the three dimensions of a `RangeTree`. */
export interface Place {
  /** Milliseconds since 1970, such as the modification time. */
  readonly timeMs: number;
  /** Ordered byte by byte. */
  readonly path: Uint8Array;
  readonly sizeBytes: number;
}

/** A file with its chunks. */
export interface RangeEntry extends Place {
  readonly chunkIds: Iterable<Uint8Array>;
}

/** A question: both ends of each range are part of it, and a range from a higher to a lower value is empty.
 * A dimension without a range is not restricted. */
export interface RangeBox {
  readonly timeMs?: readonly [number, number] | undefined;
  readonly path?: readonly [Uint8Array, Uint8Array] | undefined;
  readonly sizeBytes?: readonly [number, number] | undefined;
}

/** Leaves of a `RangeTree`, and the smallest box around them. */
export interface RangeSpan {
  readonly leaves: number;
  readonly timeMs: readonly [number, number];
  readonly path: readonly [Uint8Array, Uint8Array];
  readonly sizeBytes: readonly [number, number];
}

/** The range of all paths that begin with these bytes. It may include one more path, the first after them. */
export function pathsFrom(prefix: Uint8Array): readonly [Uint8Array, Uint8Array] {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length--;
  // No path is longer than this on any system.
  if (length === 0) return [prefix, new Uint8Array(2 ** 15).fill(0xff)];
  // Not `slice`, which of a Buffer is a view.
  const next = Uint8Array.from(prefix.subarray(0, length));
  next[length - 1]!++;
  return [prefix, next];
}

/** Chunks of one file, or a part of them, on their way into a leaf. */
export interface Fragment {
  readonly timeMs: number;
  readonly path: ByteString;
  readonly sizeBytes: number;
  /** Index of the first chunk. */
  readonly first: number;
  /** Number of chunks; 0 for an empty file. */
  readonly count: number;
}

/** @throws UsageError unless time and size are numbers */
export function fragmentAt({ timeMs, path, sizeBytes }: Place, first: number): Fragment & { count: number } {
  if (!Number.isFinite(timeMs) || !Number.isFinite(sizeBytes)) {
    throw new UsageError(`a file with the time ${timeMs} and the size ${sizeBytes} has no place in a range tree`, {
      hint: 'Give a time in milliseconds and a size in bytes.',
    });
  }
  // Adding 0 makes 0 of -0, which is not the same when it is saved.
  return { timeMs: timeMs + 0, path: byteStringFromBytes(path), sizeBytes: sizeBytes + 0, first, count: 0 };
}

/** An empty file counts like a chunk, so that its box is somewhere. */
export function weightOf({ count }: Fragment): number {
  return Math.max(1, count);
}

type Order = (a: Fragment, b: Fragment) => number;

const ORDERS: readonly Order[] = [
  (a, b) => a.timeMs - b.timeMs,
  (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0),
  (a, b) => a.sizeBytes - b.sizeBytes,
];

/**
 * Distributes fragments over leaves of equal weight: cuts by time into s^(1/3) slabs, each of these by path, and each of
 * these by size. A file whose chunks do not fit into a leaf is in several.
 *
 * Source: Leutenegger, Lopez, Edgington: "STR: A Simple and Efficient Algorithm for R-Tree Packing" (ICDE 1997).
 * @param leafCount - s, at most the total weight
 */
export function packLeaves(fragments: readonly Fragment[], leafCount: number, dimension = 0): Fragment[][] {
  if (leafCount === 1) return [[...fragments]];
  const dimensionsLeft = ORDERS.length - dimension;
  const slabs = dimensionsLeft === 1 ? leafCount : Math.max(1, Math.round(leafCount ** (1 / dimensionsLeft)));
  const leavesUntil = (slab: number): number => Math.floor((slab * leafCount) / slabs);
  const total = fragments.reduce((sum, fragment) => sum + weightOf(fragment), 0);
  const ends = Array.from({ length: slabs }, (_, slab) => Math.floor((total * leavesUntil(slab + 1)) / leafCount));
  const parts = cutAt(fragments.toSorted(ORDERS[dimension]), ends);
  if (dimensionsLeft === 1) return parts;
  return parts.flatMap((part, slab) => packLeaves(part, leavesUntil(slab + 1) - leavesUntil(slab), dimension + 1));
}

/** Cuts where the sum of the weights reaches each of the ends. */
function cutAt(fragments: readonly Fragment[], ends: readonly number[]): Fragment[][] {
  const parts: Fragment[][] = ends.map(() => []);
  let part = 0;
  let sum = 0;
  for (const fragment of fragments) {
    let rest = fragment;
    while (sum + weightOf(rest) > ends[part]!) {
      const room = ends[part]! - sum;
      if (room > 0) parts[part]!.push({ ...rest, count: room });
      if (room > 0) rest = { ...rest, first: rest.first + room, count: rest.count - room };
      sum = ends[part++]!;
    }
    parts[part]!.push(rest);
    sum += weightOf(rest);
  }
  return parts;
}
