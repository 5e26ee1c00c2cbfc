import { BorrowedChunkError, CorruptDataError, isDamage, isDenied } from '../errors.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkReader } from '../store/chunk-reader.ts';
import type { BlockSpan } from '../store/block-part.ts';
import type { BegunBlock } from '../store/pack-reader.ts';
import type { StoredChunk } from '../store/stored-chunk.ts';
import type { OtherCopy } from './other-copies.ts';

/** Finds the other copies of all chunks that are in several packs, by hex id. */
type FindCopies = () => Promise<ReadonlyMap<string, readonly OtherCopy[]>>;

/** Returns the verified bytes of a chunk that cannot be read from the repository, or undefined. */
export type LastResort = (id: Uint8Array, kind: ChunkKind) => Promise<Uint8Array | undefined>;

/**
 * Returns the verified bytes of a chunk that a domain keeps for this repository.
 * @throws BorrowedChunkError if it does not give them
 */
export type FetchBorrowed = (id: Uint8Array, domainId: string) => Promise<Uint8Array>;

interface StateReaderOptions {
  readonly findCopies: FindCopies;
  /** Called with each tree that `readTree` reads. */
  readonly onTree?: ((state: FilterState, tree: Uint8Array) => void) | undefined;
  readonly lastResort?: LastResort | undefined;
  /** Default: borrowed chunks cannot be read. */
  readonly fetchBorrowed?: FetchBorrowed | undefined;
}

/** How to read a chunk from one place, and what to do with bytes that come from elsewhere. */
interface Reading<T> {
  readonly read: (chunk: StoredChunk) => T | Promise<T>;
  readonly take: (bytes: Uint8Array) => T;
}

/** A block whose entries can be used until it is released. */
export interface OpenEntries {
  /**
   * Returns the verified bytes of an entry.
   * @throws CorruptDataError
   */
  bytesOf(entry: number): Uint8Array;
  release(): void;
}

/**
 * Reads chunks by id or entry, using the locations of a filter state. A damaged chunk is read from another copy if the
 * repository has one.
 */
export class StateReader {
  readonly #state: FilterState;
  readonly #chunks: ChunkReader;
  readonly #options: StateReaderOptions;
  #copies: ReturnType<FindCopies> | undefined;

  constructor(state: FilterState, chunks: ChunkReader, options: StateReaderOptions) {
    this.#state = state;
    this.#chunks = chunks;
    this.#options = options;
  }

  /** Returns a reader of the same chunks that also uses `lastResort`, for single chunks and for trees. */
  withLastResort(lastResort: LastResort): StateReader {
    return new StateReader(this.#state, this.#chunks, { ...this.#options, lastResort });
  }

  /**
   * Returns the tree of an entry for folding. The bytes are valid until the next read: a tree of 100 MB is not copied,
   * and its memory is reused.
   */
  readonly readTree = (entry: number): Uint8Array | Promise<Uint8Array> => {
    let tree: Uint8Array | undefined;
    const using = this.useEntry(entry, (bytes) => {
      tree = bytes;
    });
    return using === undefined ? this.#show(tree!) : using.then(() => this.#show(tree!));
  };

  #show(tree: Uint8Array): Uint8Array {
    this.#options.onTree?.(this.#state, tree);
    return tree;
  }

  /** Returns bytes that stay valid. */
  readEntry(entry: number): Uint8Array | Promise<Uint8Array> {
    return this.#fromAnyCopy(entry, { read: (chunk) => this.#chunks.read(chunk), take: (bytes) => bytes });
  }

  /** Passes the bytes to `action`, which must not keep them. Returns no promise if the block is in memory. */
  useEntry(entry: number, action: (bytes: Uint8Array) => void): Promise<void> | undefined {
    const read = (chunk: StoredChunk): void | Promise<void> => this.#chunks.use(chunk, action);
    return this.#fromAnyCopy<void>(entry, { read, take: action }) as Promise<void> | undefined;
  }

  #fromAnyCopy<T>(entry: number, how: Reading<T>): T | Promise<T> {
    const chunk = this.#storedChunk(entry);
    try {
      const reading = how.read(chunk);
      return reading instanceof Promise
        ? reading.catch(async (error: unknown) => this.#fromElsewhere(chunk, how, error))
        : reading;
    } catch (error) {
      return this.#fromElsewhere(chunk, how, error);
    }
  }

  async #fromElsewhere<T>(chunk: StoredChunk, { read, take }: Reading<T>, error: unknown): Promise<T> {
    const { fetchBorrowed } = this.#options;
    const isBorrowed = error instanceof BorrowedChunkError;
    const fetching =
      isBorrowed && fetchBorrowed !== undefined
        ? fetchBorrowed(chunk.id, error.domainId).then(take)
        : this.#fromOtherCopy(chunk, read, error);
    return await fetching.catch(async (failure: unknown) => {
      const bytes = isUnreadable(failure) ? await this.#options.lastResort?.(chunk.id, chunk.kind) : undefined;
      if (bytes === undefined) throw failure;
      return take(bytes);
    });
  }

  /** Throws unless the chunk is readable at the location in the state. Other packs do not count. */
  async verifyEntry(entry: number): Promise<void> {
    const chunk = this.#storedChunk(entry);
    const verify = async (copy: StoredChunk): Promise<void> => {
      // Of a borrowed chunk, the repository has only the block that says who keeps it.
      await this.#chunks
        .use(copy, () => undefined)
        ?.catch((error: unknown) => {
          if (!(error instanceof BorrowedChunkError)) throw error;
        });
    };
    await verify(chunk).catch(async (error: unknown) => {
      if (!isUnreadable(error)) throw error;
      await firstSound(await this.#packCopies(chunk), verify, error);
    });
  }

  /** Reads the tree with an id. Throws `CorruptDataError` if the repository does not have it. */
  read(ids: Uint8Array, offset: number): Uint8Array | Promise<Uint8Array> {
    const { lastResort } = this.#options;
    if (lastResort === undefined || this.has(ids, offset)) return this.readEntry(this.entryOf(ids, offset));
    return lastResort(ids.subarray(offset, offset + CHUNK_ID_BYTES), 'tree').then((tree) => {
      if (tree === undefined) throw notInPack(ids, offset);
      return tree;
    });
  }

  entryOf(ids: Uint8Array, offset: number): number {
    const entry = this.#state.filter.find(ids, offset);
    if (entry >= 0 && this.#isInPack(entry)) return entry;
    throw notInPack(ids, offset);
  }

  /** Whether a chunk is in a pack, readable or not. */
  has(ids: Uint8Array, offset: number): boolean {
    const entry = this.#state.filter.find(ids, offset);
    return entry >= 0 && this.#isInPack(entry);
  }

  /** A running backup has entries for chunks whose pack is still pending. Those cannot be read. */
  #isInPack(entry: number): boolean {
    const { filter, packs } = this.#state;
    return filter.hasLocation(entry) && packs.has(filter.packIndexOf(entry));
  }

  get readsAtOnce(): number {
    return this.#chunks.readsAtOnce;
  }

  expectedBytesOf(entry: number): number {
    return this.#chunks.expectedBytesOf(this.#storedChunk(entry));
  }

  /** Begins to read the block of an entry, for `openBlock`. `needed`: what will be used of it. */
  beginBlock(entry: number, needed?: BlockSpan): BegunBlock {
    return this.#chunks.beginBlock(this.#storedChunk(entry), needed);
  }

  /**
   * Reads the block that contains an entry, past the cache, for a caller that knows everything it needs from it. Only
   * copies of its pack are tried; a chunk that is damaged there can be read with `readEntry`.
   */
  async openBlock(entry: number, begun?: BegunBlock): Promise<OpenEntries> {
    const chunk = this.#storedChunk(entry);
    const block = await this.#chunks.openBlock(chunk, begun).catch(async (error: unknown) => {
      if (!isUnreadable(error)) throw error;
      return await firstSound(await this.#packCopies(chunk), async (copy) => this.#chunks.openBlock(copy), error);
    });
    return { bytesOf: (inBlock) => block.bytesOf(this.#storedChunk(inBlock)), release: () => block.release() };
  }

  async #fromOtherCopy<T>(
    chunk: StoredChunk,
    read: (chunk: StoredChunk) => T | Promise<T>,
    error: unknown,
  ): Promise<T> {
    if (!isUnreadable(error)) throw error;
    const others = await this.#packCopies(chunk);
    return await firstSound(others, async (copy) => read(copy), error).catch(async (failure: unknown) => {
      if (failure !== error || !isDamage(error)) throw failure;
      this.#copies ??= this.#options.findCopies();
      const inOtherPacks = (await this.#copies).get(Buffer.from(chunk.id).toString('hex')) ?? [];
      const copies = inOtherPacks.map((copy) => ({ id: chunk.id, ...copy }));
      return await firstSound(copies, async (copy) => read(copy), error);
    });
  }

  async #packCopies(chunk: StoredChunk): Promise<StoredChunk[]> {
    return (await this.#chunks.copyIdsOf(chunk.packId)).map((packId) => ({ ...chunk, packId }));
  }

  #storedChunk(entry: number): StoredChunk {
    const { filter, packs } = this.#state;
    const location = filter.location(entry);
    const pack = packs.get(location.packIndex);
    const id = new Uint8Array(CHUNK_ID_BYTES);
    filter.copyId(entry, id, 0);
    return { id, kind: pack.kind, packId: pack.id, packBytes: pack.sizeBytes, ...location };
  }
}

function notInPack(ids: Uint8Array, offset: number): CorruptDataError {
  const id = Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex');
  return new CorruptDataError(`chunk ${id} is in no pack of the repository`, {
    advice: { code: 'check-repair-or-back-up' },
  });
}

/** Whether another copy may help. */
function isUnreadable(error: unknown): boolean {
  return isDamage(error) || isDenied(error);
}

/** Throws `error` if no copy can be read. */
async function firstSound<T>(
  copies: readonly StoredChunk[],
  read: (copy: StoredChunk) => Promise<T>,
  error: unknown,
): Promise<T> {
  for (const copy of copies) {
    try {
      return await read(copy);
    } catch (otherError) {
      if (!isUnreadable(otherError)) throw otherError;
    }
  }
  throw error;
}
