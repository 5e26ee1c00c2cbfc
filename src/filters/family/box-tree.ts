import { type ByteString, bytesOf, byteStringFromBytes } from '../../core/util/byte-string.ts';
import { ByteReader } from '../../core/format/byte-reader.ts';
import type { Fragment, RangeBox, RangeSpan } from './range-box.ts';

/** A box is six numbers: the lowest and highest time, path and size. A path is its index in a sorted list. */
const BOX_NUMBERS = 6;
/** Boxes under one box of the level above. */
const FANOUT = 8;
const LENGTH_BYTES = 4;

/** The boxes of an R-tree, without pointers: the boxes under box i of a level are 8 i to 8 i + 7 of the level below. */
export class BoxTree {
  /** The first and last path of each leaf, sorted and distinct: their indices compare like the paths. */
  readonly paths: readonly ByteString[];
  /** The boxes of each level, from the leaves to the one that has at most 8. */
  readonly #levels: readonly Float64Array[];

  constructor(paths: readonly ByteString[], leafBoxes: Float64Array) {
    this.paths = paths;
    const levels = [leafBoxes];
    while (levels.at(-1)!.length > FANOUT * BOX_NUMBERS) levels.push(boxesAbove(levels.at(-1)!));
    this.#levels = levels;
  }

  /** @param leaves - none of them empty */
  static over(leaves: readonly (readonly Fragment[])[]): BoxTree {
    const ranges = leaves.map((leaf) => {
      const paths = leaf.map(({ path }) => path);
      return [paths.reduce((a, b) => (b < a ? b : a)), paths.reduce((a, b) => (b > a ? b : a))] as const;
    });
    // The default order is that of UTF-16 units, which in byte strings are bytes.
    const paths = [...new Set(ranges.flat())].sort();
    const indices = new Map(paths.map((path, index) => [path, index]));
    const boxes = new Float64Array(leaves.length * BOX_NUMBERS);
    for (const [index, leaf] of leaves.entries()) {
      const times = spanOf(leaf, 'timeMs');
      const sizes = spanOf(leaf, 'sizeBytes');
      const [first, last] = ranges[index]!;
      boxes.set([...times, indices.get(first)!, indices.get(last)!, ...sizes], index * BOX_NUMBERS);
    }
    return new BoxTree(paths, boxes);
  }

  get leafBoxes(): Float64Array {
    return this.#levels[0]!;
  }

  get leafCount(): number {
    return this.leafBoxes.length / BOX_NUMBERS;
  }

  get memoryBytes(): number {
    const boxes = this.#levels.reduce((sum, level) => sum + level.byteLength, 0);
    return this.paths.reduce((sum, path) => sum + path.length, boxes);
  }

  /** Whether the numbers are boxes: each lowest value at most the highest, and paths those of the list. */
  isValid(): boolean {
    const boxes = this.leafBoxes;
    for (let at = 0; at < boxes.length; at += 2) {
      const [low, high] = [boxes[at]!, boxes[at + 1]!];
      if (!Number.isFinite(low) || !Number.isFinite(high) || low > high) return false;
      const isPath = at % BOX_NUMBERS === 2;
      if (isPath && !(Number.isInteger(low) && Number.isInteger(high) && low >= 0 && high < this.paths.length)) {
        return false;
      }
    }
    return this.paths.every((path, index) => index === 0 || path > this.paths[index - 1]!);
  }

  /** Visits the leaves that overlap the box, until one of the visits returns true. Returns whether one did. */
  some(box: RangeBox, visit: (leaf: number) => boolean): boolean {
    if (isEmpty(box)) return false;
    const wanted = [
      ...(box.timeMs ?? [-Infinity, Infinity]),
      ...this.#indicesOf(box.path),
      ...(box.sizeBytes ?? [-Infinity, Infinity]),
    ];
    const descend = (level: number, first: number): boolean => {
      const boxes = this.#levels[level]!;
      const end = Math.min(first + FANOUT, boxes.length / BOX_NUMBERS);
      for (let index = first; index < end; index++) {
        if (!overlaps(boxes, index * BOX_NUMBERS, wanted)) continue;
        if (level === 0 ? visit(index) : descend(level - 1, index * FANOUT)) return true;
      }
      return false;
    };
    return descend(this.#levels.length - 1, 0);
  }

  /** The smallest box around the leaves that overlap a box, and their number. Undefined: none does. */
  spanIn(box: RangeBox): RangeSpan | undefined {
    let leaves = 0;
    const span = [Infinity, -Infinity, Infinity, -Infinity, Infinity, -Infinity];
    this.some(box, (leaf) => {
      leaves++;
      for (let number = 0; number < BOX_NUMBERS; number++) {
        const value = this.leafBoxes[leaf * BOX_NUMBERS + number]!;
        span[number] = number % 2 === 0 ? Math.min(span[number]!, value) : Math.max(span[number]!, value);
      }
      return false;
    });
    if (leaves === 0) return undefined;
    const [timeFrom, timeTo, first, last, sizeFrom, sizeTo] = span as [number, number, number, number, number, number];
    const path = [bytesOf(this.paths[first]!), bytesOf(this.paths[last]!)] as const;
    return { leaves, timeMs: [timeFrom, timeTo], path, sizeBytes: [sizeFrom, sizeTo] };
  }

  #indicesOf(path: RangeBox['path']): [number, number] {
    if (path === undefined) return [0, Infinity];
    const [first, last] = [byteStringFromBytes(path[0]), byteStringFromBytes(path[1])];
    return [countWhile(this.paths, (each) => each < first), countWhile(this.paths, (each) => each <= last) - 1];
  }
}

function spanOf(leaf: readonly Fragment[], key: 'timeMs' | 'sizeBytes'): [number, number] {
  return leaf.reduce<[number, number]>(
    ([low, high], fragment) => [Math.min(low, fragment[key]), Math.max(high, fragment[key])],
    [Infinity, -Infinity],
  );
}

function boxesAbove(boxes: Float64Array): Float64Array {
  const count = boxes.length / BOX_NUMBERS;
  const above = new Float64Array(Math.ceil(count / FANOUT) * BOX_NUMBERS);
  for (let index = 0; index < count; index++) {
    const target = Math.floor(index / FANOUT) * BOX_NUMBERS;
    const isFirst = index % FANOUT === 0;
    for (let number = 0; number < BOX_NUMBERS; number++) {
      const value = boxes[index * BOX_NUMBERS + number]!;
      const bound = number % 2 === 0 ? Math.min : Math.max;
      above[target + number] = isFirst ? value : bound(above[target + number]!, value);
    }
  }
  return above;
}

function overlaps(boxes: Float64Array, at: number, wanted: readonly number[]): boolean {
  for (let number = 0; number < BOX_NUMBERS; number += 2) {
    if (boxes[at + number]! > wanted[number + 1]! || boxes[at + number + 1]! < wanted[number]!) return false;
  }
  return true;
}

function isEmpty({ timeMs, path, sizeBytes }: RangeBox): boolean {
  const isReversed = ([first, last]: readonly [number, number] = [0, 0]): boolean => first > last;
  return (
    isReversed(timeMs) ||
    isReversed(sizeBytes) ||
    (path !== undefined && byteStringFromBytes(path[0]) > byteStringFromBytes(path[1]))
  );
}

/** How many values at the beginning of a sorted list meet a condition that the others do not meet. */
function countWhile<T>(sorted: readonly T[], meets: (value: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (meets(sorted[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The saved form of a list of paths: each with its length (u32) in front. */
export function encodePaths(paths: readonly ByteString[]): Uint8Array {
  const parts = paths.flatMap((path) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(path.length);
    return [length, bytesOf(path)];
  });
  return Buffer.concat(parts);
}

/** @throws CorruptDataError if a path ends after the bytes */
export function decodePaths(bytes: Uint8Array): ByteString[] {
  const reader = new ByteReader(bytes, 'saved range-tree filter');
  const paths: ByteString[] = [];
  while (reader.remaining > 0) paths.push(byteStringFromBytes(reader.view(reader.u32())));
  return paths;
}
