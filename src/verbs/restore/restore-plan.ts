import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { BlockSpan } from '../../core/store/block-part.ts';
import type { PlannedFile } from './planned-file.ts';

/**
 * The memory for the files, chunks and directories that wait for the blocks. When it is used up, they are written, and
 * the restore goes on with another plan.
 */
export const PLAN_BYTES_MAX: number = 64 * 1024 * 1024;
/** Measured: 200 for the file with a short name, and 100 for its part of the tree, which its directory keeps. */
const BYTES_PER_FILE = 400;
/** It keeps its entry, which is compared with that of the first name. */
const BYTES_PER_LINK = 700;
const BYTES_PER_CHUNK = 32;
/** The object of an extended attribute, and its name. Its value is a part of the tree. */
const BYTES_PER_ATTRIBUTE = 200;
const OFFSETS_PER_PACK = 2 ** 32;

/** The chunks of a file that are in one block. */
export interface FilePart {
  readonly file: PlannedFile;
  /** Their numbers in the filter. */
  readonly entries: readonly number[];
  /** Where each of them belongs in the file. */
  readonly offsets: readonly number[];
}

/** Learns which chunks are needed as soon as that is known. */
interface ReadAhead {
  need(entries: readonly number[]): void;
}

/** Collects files to be written. */
export class RestorePlan {
  /** Files that will become links to files in the plan. */
  readonly links: PlannedFile[] = [];
  readonly #state: FilterState;
  readonly #ahead: ReadAhead;
  readonly #files: PlannedFile[] = [];
  readonly #empty: PlannedFile[] = [];
  #attributeBytes = 0;
  /** The chunks of all files, one file after the other. */
  readonly #entries: number[] = [];

  constructor(state: FilterState, ahead: ReadAhead) {
    this.#state = state;
    this.#ahead = ahead;
  }

  /** The memory for its files and chunks. */
  get sizeBytes(): number {
    const fileCount = this.#files.length + this.#empty.length;
    const linkBytes = this.links.length * BYTES_PER_LINK;
    const chunkBytes = this.#entries.length * BYTES_PER_CHUNK;
    return fileCount * BYTES_PER_FILE + linkBytes + chunkBytes + this.#attributeBytes;
  }

  /** `entries`: the numbers of its chunks in the filter, in order. */
  add(file: PlannedFile, entries: readonly number[]): void {
    file.chunkCount = entries.length;
    file.remainingCount = entries.length;
    this.#attributeBytes += file.xattrs.length * BYTES_PER_ATTRIBUTE + file.holes.byteLength;
    (entries.length === 0 ? this.#empty : this.#files).push(file);
    for (const entry of entries) this.#entries.push(entry);
    this.#ahead.need(entries);
  }

  /** Call it after the last `add`. */
  sort(): PlannedBlocks {
    return new PlannedBlocks(this.#state, this.#files, this.#entries, this.#empty);
  }
}

/**
 * The order in which to read the blocks that contain the chunks of a plan: each block once, and the one that the files
 * need first is first. So the files of a snapshot that was stored in one go are completed in their own order.
 */
export class PlannedBlocks {
  /** The number of each block in the order, by pack and offset. */
  readonly keys: Map<number, number> = new Map();
  /** Files that need no block. */
  readonly empty: readonly PlannedFile[];
  readonly #filter: FilterState['filter'];
  readonly #files: readonly PlannedFile[];
  readonly #entries: readonly number[];
  readonly #fileOf: Uint32Array;
  readonly #offsetOf: Float64Array;
  /** Indexes into `#entries`, by block and then by file. */
  readonly #sorted: Uint32Array;
  /** Where each block ends in `#sorted`. */
  readonly #ends: Uint32Array;

  constructor(
    { filter }: FilterState,
    files: readonly PlannedFile[],
    entries: readonly number[],
    empty: readonly PlannedFile[],
  ) {
    this.empty = empty;
    this.#filter = filter;
    this.#files = files;
    this.#entries = entries;
    this.#fileOf = new Uint32Array(entries.length);
    this.#offsetOf = new Float64Array(entries.length);
    const blockOf = new Uint32Array(entries.length);
    let index = 0;
    for (const [fileIndex, { chunkCount, patch }] of files.entries()) {
      let offset = 0;
      const start = index;
      for (const end = index + chunkCount; index < end; index += 1) {
        const location = filter.location(entries[index]!);
        const { lengthBytes } = location;
        const key = blockKeyOf(location);
        const block = this.keys.get(key) ?? this.keys.size;
        if (block === this.keys.size) this.keys.set(key, block);
        blockOf[index] = block;
        this.#fileOf[index] = fileIndex;
        this.#offsetOf[index] = patch?.offsets[index - start] ?? offset;
        offset += lengthBytes;
      }
    }
    [this.#sorted, this.#ends] = sortByBlock(blockOf, this.keys.size);
  }

  get count(): number {
    return this.#ends.length;
  }

  /** Returns the number of a chunk that is in the block. */
  firstEntryOf(block: number): number {
    return this.#entries[this.#sorted[this.#startOf(block)]!]!;
  }

  /** Where its needed chunks are in the block: from the first to the last. */
  spanOf(block: number): BlockSpan {
    let [start, end] = [Infinity, 0];
    for (let position = this.#startOf(block); position < this.#ends[block]!; position += 1) {
      const { offsetInBlock, lengthBytes } = this.#filter.location(this.#entries[this.#sorted[position]!]!);
      start = Math.min(start, offsetInBlock);
      end = Math.max(end, offsetInBlock + lengthBytes);
    }
    return { start, end };
  }

  /** The parts of files that are in the block. */
  *partsOf(block: number): Generator<FilePart> {
    const end = this.#ends[block]!;
    for (let position = this.#startOf(block); position < end;) {
      const fileIndex = this.#fileOf[this.#sorted[position]!]!;
      const entries: number[] = [];
      const offsets: number[] = [];
      for (; position < end; position += 1) {
        const index = this.#sorted[position]!;
        if (this.#fileOf[index] !== fileIndex) break;
        entries.push(this.#entries[index]!);
        offsets.push(this.#offsetOf[index]!);
      }
      yield { file: this.#files[fileIndex]!, entries, offsets };
    }
  }

  #startOf(block: number): number {
    return block === 0 ? 0 : this.#ends[block - 1]!;
  }
}

/** Returns a number that stands for the block of a chunk. */
export function blockKeyOf(chunk: { readonly packIndex: number; readonly blockOffset: number }): number {
  return chunk.packIndex * OFFSETS_PER_PACK + chunk.blockOffset;
}

/** A counting sort: returns the indexes by block, in ascending order within a block, and the end of each block. */
function sortByBlock(blockOf: Uint32Array, blockCount: number): [Uint32Array, Uint32Array] {
  const ends = new Uint32Array(blockCount);
  for (const block of blockOf) ends[block]! += 1;
  for (let block = 1; block < blockCount; block += 1) ends[block]! += ends[block - 1]!;
  const sorted = new Uint32Array(blockOf.length);
  // Backwards, `ends` becomes the start of each block, and the order within a block is kept.
  for (let index = blockOf.length - 1; index >= 0; index -= 1) sorted[--ends[blockOf[index]!]!] = index;
  return [sorted, Uint32Array.from(ends, (_, block) => (block + 1 < blockCount ? ends[block + 1]! : blockOf.length))];
}
