import type { Chunker } from '../chunking/chunker.ts';
import { cutSmall } from '../chunking/small-chunks.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { Repository } from '../repository/repository.ts';
import { isZero } from '../util/zero-bytes.ts';
import type { ChunkSaver, HashingChunk } from './chunk-saver.ts';
import { smallChunkerOf } from './chunker-of.ts';

/**
 * Which chunks that the repository lacks are stored as small ones: all of them, or those whose beginning (after zeros) it
 * has as a small chunk. These were cut so before, of this file or of a copy of it.
 */
export type Splitting = 'all' | 'known';

type Hasher = Pick<Repository['hasher'], 'dataId'>;
type Filter = Pick<FilterState['filter'], 'find'>;

/** Stores new chunks of large files as small ones, so that the next change in the same place stores less. */
export class ChunkSplitter {
  readonly #chunker: Chunker;
  readonly #hasher: Hasher;
  readonly #chunks: ChunkSaver;
  readonly #filter: Filter;

  constructor(chunker: Chunker, hasher: Hasher, chunks: ChunkSaver, filter: Filter) {
    this.#chunker = chunker;
    this.#hasher = hasher;
    this.#chunks = chunks;
    this.#filter = filter;
  }

  /** Returns the ids of the small chunks in order, 20 bytes each. Undefined if the chunk must be stored as it is. */
  async put(chunk: HashingChunk, splitting: Splitting): Promise<Uint8Array | undefined> {
    const { bytes } = chunk;
    const whole = await chunk.hashing.result();
    const isStored = await this.#has(whole);
    // It is damaged or gone, and the snapshots that need it get it back only as it was.
    if (!isStored && this.#filter.find(whole, 0) >= 0) return undefined;
    // One chunk of zeros serves for all.
    if (isZero(bytes)) return undefined;
    if ((isStored || splitting === 'known') && !(await this.#hasBeginning(bytes))) return undefined;
    const parts = [...cutSmall(this.#chunker, bytes)].map((part) => ({ part, id: this.#hasher.dataId(part) }));
    // What is stored is not stored again. If it is there in both sizes, the small ones stay in use.
    if (parts.length === 1 || (isStored && !(await this.#hasAll(parts)))) return undefined;
    for (const { part, id } of parts) await this.#chunks.put('data', id, part);
    this.#chunks.drop(chunk);
    return Buffer.concat(parts.map(({ id }) => id));
  }

  async #has(id: Uint8Array): Promise<boolean> {
    await this.#chunks.lookFor?.(id);
    return this.#chunks.has(id, 0);
  }

  async #hasAll(parts: readonly { readonly id: Uint8Array }[]): Promise<boolean> {
    for (const { id } of parts) if (!(await this.#has(id))) return false;
    return true;
  }

  /** Zeros at the beginning tell nothing: they are everywhere. */
  async #hasBeginning(bytes: Uint8Array): Promise<boolean> {
    for (const part of cutSmall(this.#chunker, bytes)) {
      if (!isZero(part)) return await this.#has(this.#hasher.dataId(part));
    }
    return false;
  }
}

/** Creates the splitter for a repository. Undefined if its chunks are small already. */
export function splitterFor(
  repository: Repository,
  chunks: ChunkSaver,
  { filter }: FilterState,
): ChunkSplitter | undefined {
  const chunker = smallChunkerOf(repository);
  return chunker && new ChunkSplitter(chunker, repository.hasher, chunks, filter);
}
