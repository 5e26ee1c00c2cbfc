import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { OpenEntries, StateReader } from '../../core/repository/state-reader.ts';
import type { BlockSpan } from '../../core/store/block-part.ts';
import type { BegunBlock } from '../../core/store/pack-reader.ts';
import type { PlannedBlocks } from './restore-plan.ts';
import { blockKeyOf } from './restore-plan.ts';

/** Memory for stored blocks that are asked for, or wait to be decompressed: at 100 Mbit/s, what arrives in 1 second. */
export const AHEAD_BYTES_MAX: number = 12 * 1024 * 1024;
/** As long as less of a block is needed, only a part of it may have to be read. */
const NEEDED_SHARE = 1 / 2;

/** A block of which some chunks are needed. */
interface NeededBlock {
  readonly entry: number;
  readonly expectedBytes: number;
  neededBytes: number;
}

interface BlocksAheadOptions {
  readonly state: FilterState;
  readonly reader: StateReader;
  readonly bytesMax: number;
}

/**
 * Reads the blocks of a restore ahead, to keep a line to another machine busy while files are planned and written. From a
 * directory of this machine, a block is read when it is opened.
 */
export class BlocksAhead {
  readonly #options: BlocksAheadOptions;
  /** 0 for a place that needs no read-ahead. */
  readonly #readsAtOnce: number;
  readonly #needed = new Map<number, NeededBlock>();
  readonly #begun = new Map<number, BegunBlock>();
  /** The entries of blocks that files in the plan need, before their order is known. */
  readonly #planned: { readonly key: number; readonly entry: number }[] = [];
  #plannedBytes = 0;
  #blocks: PlannedBlocks | undefined;
  #keys: readonly number[] = [];
  #next = 0;
  #heldBytes = 0;
  #readCount = 0;
  #isClosed = false;

  constructor(options: BlocksAheadOptions) {
    this.#options = options;
    const { readsAtOnce } = options.reader;
    this.#readsAtOnce = readsAtOnce === 1 ? 0 : readsAtOnce;
  }

  /** Call this with the chunks of each file that is planned. */
  need(entries: readonly number[]): void {
    if (this.#readsAtOnce === 0) return;
    for (const entry of entries) {
      if (this.#heldBytes + this.#plannedBytes >= this.#options.bytesMax) return;
      this.#needOne(entry);
    }
  }

  /** The order in which the blocks will be opened. */
  follow(blocks: PlannedBlocks): void {
    this.#blocks = blocks;
    this.#keys = [...blocks.keys.keys()];
    this.#next = 0;
    this.#needed.clear();
    this.#planned.length = 0;
    this.#plannedBytes = 0;
    this.#readMore();
  }

  /** Opens a block of `follow`. */
  async open(block: number): Promise<OpenEntries> {
    const key = this.#keys[block]!;
    const entry = this.#blocks!.firstEntryOf(block);
    if (this.#readsAtOnce === 0) return await this.#options.reader.openBlock(entry);
    this.#next = Math.max(this.#next, block + 1);
    const begun = this.#begun.get(key) ?? this.#begin(key, entry, this.#blocks!.spanOf(block));
    try {
      return await this.#options.reader.openBlock(entry, begun);
    } finally {
      this.#begun.delete(key);
      this.#heldBytes -= begun.sizeBytes;
      this.#readMore();
    }
  }

  #needOne(entry: number): void {
    const { state, reader } = this.#options;
    const location = state.filter.location(entry);
    const key = blockKeyOf(location);
    if (this.#begun.has(key)) return;
    const known = this.#needed.get(key);
    const needed = known ?? { entry, expectedBytes: reader.expectedBytesOf(entry), neededBytes: 0 };
    if (known === undefined) this.#needed.set(key, needed);
    const isEnough = (): boolean => needed.neededBytes >= needed.expectedBytes * NEEDED_SHARE;
    if (isEnough()) return;
    needed.neededBytes += location.storedBytes;
    if (!isEnough()) return;
    this.#planned.push({ key, entry });
    this.#plannedBytes += needed.expectedBytes;
    this.#readMore();
  }

  /** When it returns, nothing is read any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#begun.values()].map(({ buffer }) => buffer));
  }

  #readMore(): void {
    while (!this.#isClosed && this.#heldBytes < this.#options.bytesMax && this.#readCount < this.#readsAtOnce) {
      if (!this.#readOne()) return;
    }
  }

  #readOne(): boolean {
    const planned = this.#planned.shift();
    if (planned !== undefined) {
      this.#plannedBytes -= this.#begin(planned.key, planned.entry).sizeBytes;
      return true;
    }
    while (this.#next < this.#keys.length) {
      const block = this.#next;
      const key = this.#keys[block]!;
      this.#next += 1;
      if (this.#begun.has(key)) continue;
      this.#begin(key, this.#blocks!.firstEntryOf(block), this.#blocks!.spanOf(block));
      return true;
    }
    return false;
  }

  #begin(key: number, entry: number, needed?: BlockSpan): BegunBlock {
    const begun = this.#options.reader.beginBlock(entry, needed);
    this.#begun.set(key, begun);
    this.#heldBytes += begun.sizeBytes;
    this.#readCount += 1;
    const onEnd = (): void => {
      this.#readCount -= 1;
      this.#readMore();
    };
    begun.buffer.then(onEnd, onEnd);
    return begun;
  }
}
