import { availableParallelism } from 'node:os';
import type { FilterState } from '../../filter/filter-state.ts';
import type { StateReader } from '../../repository/state-reader.ts';

/** So many blocks are read and decompressed ahead: enough for every core up to eight, and a bound on the memory. */
const BLOCKS_AHEAD: number = 2 * Math.min(Math.max(2, availableParallelism()), 8);
/** What a block of 4 MiB takes that did not get smaller by compression: its buffer is of the next power of two. */
const BLOCK_BYTES = 8 * 1024 * 1024;
const LAST_USED_BYTES = 16 * 1024 * 1024;

/** Of the block cache below a `Prefetcher`: with less, blocks would be gone before their use, and read once more. */
export const PREFETCH_CACHE_BYTES: number = BLOCKS_AHEAD * BLOCK_BYTES + LAST_USED_BYTES;

const OFFSETS_PER_PACK = 2 ** 32;

/** Reads the blocks of a known sequence of chunks ahead of their use. */
export class Prefetcher {
  readonly #reader: StateReader;
  readonly #state: FilterState;
  readonly #sequence: number[] = [];
  #consumed = 0;
  #requested = 0;
  /** Blocks read ahead, and the position of their last use that is known. */
  readonly #ahead = new Map<number, number>();

  constructor(reader: StateReader, state: FilterState) {
    this.#reader = reader;
    this.#state = state;
  }

  /** How many chunks of the sequence wait to be used. */
  get waitingCount(): number {
    return this.#sequence.length - this.#consumed;
  }

  /** The next chunk of the sequence, by its entry. */
  append(entry: number): void {
    this.#sequence.push(entry);
  }

  /** How many bytes the next `count` chunks have together. */
  sizeOf(count: number): number {
    let sizeBytes = 0;
    for (let index = 0; index < count; index += 1) {
      sizeBytes += this.#state.filter.location(this.#sequence[this.#consumed + index]!).lengthBytes;
    }
    return sizeBytes;
  }

  /** Shows the bytes of the next chunk to `action`, only there and then. */
  next(action: (bytes: Uint8Array) => void): Promise<void> | undefined {
    this.#request();
    const entry = this.#sequence[this.#consumed]!;
    this.#pass();
    return this.#reader.useEntry(entry, action);
  }

  /** Leaves out chunks of a file that is given up. */
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
