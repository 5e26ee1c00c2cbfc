import type { OpenedState } from '../../core/repository/opened-state.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import type { CopierServices } from './content-copier.ts';
import type { Content } from './cut-memo.ts';

/** Blocks that are read and decompressed ahead. With those in use, they must fit in the cache of the reader. */
const BLOCKS_AHEAD_MAX = 4;
/** The block of a longer chunk contains little else, and takes much memory. */
const CHUNK_BYTES_MAX = 8 * 1024 * 1024;
/** A file is read from two blocks in turn, if parts of it can be compressed and others cannot. */
const RECENT_BLOCKS = 4;
const OFFSETS_PER_PACK = 2 ** 32;

/** Reads the blocks of contents ahead into the cache of a reader, in the order in which new chunks are needed. */
export class BlocksAhead {
  readonly #source: OpenedState;
  readonly #blocksMax: number;
  readonly #upcoming: Iterator<number>;
  /** The blocks that were requested and are not in use yet. */
  readonly #requested: number[] = [];
  readonly #recent: number[] = [];
  readonly #reading = new Set<Promise<void>>();

  /** `isNew`: whether a chunk will have to be read. */
  constructor(
    { source, atOnce }: Pick<CopierServices, 'source' | 'atOnce'>,
    contents: readonly Content[],
    isNew: (entry: number) => boolean,
  ) {
    this.#source = source;
    this.#blocksMax = Math.min(atOnce, BLOCKS_AHEAD_MAX);
    this.#upcoming = newChunksOf(contents, isNew);
  }

  /** Call it before a chunk is read. */
  advance(entry: number): void {
    const position = this.#requested.indexOf(this.#blockOf(entry));
    this.#requested.splice(0, position + 1);
    while (this.#requested.length < this.#blocksMax) {
      const next = this.#upcoming.next();
      if (next.done === true) return;
      this.#request(next.value);
    }
  }

  /** When it returns, nothing is being read. */
  async settle(): Promise<void> {
    await Promise.all(this.#reading);
  }

  #request(entry: number): void {
    const { state, reader } = this.#source;
    const block = this.#blockOf(entry);
    if (this.#recent.includes(block) || state.filter.lengthOf(entry) > CHUNK_BYTES_MAX) return;
    this.#recent.push(block);
    if (this.#recent.length > BLOCKS_AHEAD_MAX + RECENT_BLOCKS) void this.#recent.shift();
    this.#requested.push(block);
    // An error is for the reader of the chunk, which tries again.
    const reading = reader.useEntry(entry, () => undefined)?.catch(() => undefined);
    if (reading === undefined) return;
    this.#reading.add(reading);
    void reading.then(() => this.#reading.delete(reading));
  }

  #blockOf(entry: number): number {
    const { packIndex, blockOffset } = this.#source.state.filter.location(entry);
    return packIndex * OFFSETS_PER_PACK + blockOffset;
  }
}

/** Each once. */
function* newChunksOf(contents: readonly Content[], isNew: (entry: number) => boolean): Generator<number> {
  const found = new EntrySet();
  for (const content of contents) {
    for (const entry of content) if (isNew(entry) && found.add(entry)) yield entry;
  }
}
