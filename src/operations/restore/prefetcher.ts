import { availableParallelism } from 'node:os';
import type { FilterState } from '../../filter/filter-state.ts';
import type { StateReader } from '../../repository/state-reader.ts';

/** Maximum blocks read and decompressed ahead: enough for up to eight cores. It bounds the memory. */
const BLOCKS_AHEAD: number = 2 * Math.min(Math.max(2, availableParallelism()), 8);
/** The memory of a block of 4 MiB that compression did not shrink: the buffer size is the next power of two. */
const BLOCK_BYTES = 8 * 1024 * 1024;
const LAST_USED_BYTES = 16 * 1024 * 1024;

/**
 * The size of the block cache that a `Prefetcher` needs. A smaller cache drops blocks before their use, so that they
 * are read twice.
 */
export const PREFETCH_CACHE_BYTES: number = BLOCKS_AHEAD * BLOCK_BYTES + LAST_USED_BYTES;

const OFFSETS_PER_PACK = 2 ** 32;

/** Reads the blocks of a known sequence of chunks before they are used. */
export class Prefetcher {
  readonly #reader: StateReader;
  readonly #state: FilterState;
  readonly #sequence: number[] = [];
  #consumed = 0;
  #requested = 0;
  /** Blocks that were read ahead, and the position of the last known use of each. */
  readonly #ahead = new Map<number, number>();

  constructor(reader: StateReader, state: FilterState) {
    this.#reader = reader;
    this.#state = state;
  }

  /** The number of chunks in the sequence that have not been used yet. */
  get waitingCount(): number {
    return this.#sequence.length - this.#consumed;
  }

  /** Appends a chunk to the sequence. `entry` is its number in the filter. */
  append(entry: number): void {
    this.#sequence.push(entry);
  }

  /** Returns the total length of the next `count` chunks, in bytes. */
  sizeOf(count: number): number {
    let sizeBytes = 0;
    for (let index = 0; index < count; index += 1) {
      sizeBytes += this.#state.filter.location(this.#sequence[this.#consumed + index]!).lengthBytes;
    }
    return sizeBytes;
  }

  /** Passes the bytes of the next chunk to `action`. They are valid only during that call. */
  next(action: (bytes: Uint8Array) => void): Promise<void> | undefined {
    this.#request();
    const entry = this.#sequence[this.#consumed]!;
    this.#pass();
    return this.#reader.useEntry(entry, action);
  }

  /** Skips chunks of a file that will not be written. */
  skip(count: number): void {
    for (let skipped = 0; skipped < count; skipped += 1) this.#pass();
  }

  #pass(): void {
    const block = this.#blockOf(this.#sequence[this.#consumed]!);
    if (this.#ahead.get(block) === this.#consumed) this.#ahead.delete(block);
    this.#consumed += 1;
    this.#requested = Math.max(this.#requested, this.#consumed);
    if (this.#consumed < 65_536) return;
    this.#sequence.splice(0, this.#consumed);
    this.#requested -= this.#consumed;
    for (const [key, position] of this.#ahead) this.#ahead.set(key, position - this.#consumed);
    this.#consumed = 0;
  }

  #request(): void {
    while (this.#ahead.size < BLOCKS_AHEAD && this.#requested < this.#sequence.length) {
      const entry = this.#sequence[this.#requested]!;
      const block = this.#blockOf(entry);
      if (!this.#ahead.has(block)) this.#reader.prefetch(entry);
      this.#ahead.set(block, this.#requested);
      this.#requested += 1;
    }
  }

  #blockOf(entry: number): number {
    const { packIndex, blockOffset } = this.#state.filter.location(entry);
    return packIndex * OFFSETS_PER_PACK + blockOffset;
  }
}
