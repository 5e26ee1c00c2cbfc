import type { Backend } from '../backend/backend.ts';
import type { ChunkHasher } from '../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { BlockCache, type CachedBlock } from './block-cache.ts';
import { readRawBlock } from './pack-reader.ts';

/** Where a chunk lies. */
export interface StoredChunk {
  readonly id: Uint8Array;
  readonly kind: ChunkKind;
  readonly packId: string;
  readonly blockOffset: number;
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
}

/** Reads chunks and proves each against its id: wrong bytes never leave this class. */
export class ChunkReader {
  readonly #backend: Backend;
  readonly #hasher: ChunkHasher;
  readonly #blocks: BlockCache;
  /** The chunk of a block that was proved while the block was prefetched. */
  readonly #proved = new WeakMap<Uint8Array, StoredChunk>();

  constructor(backend: Backend, hasher: ChunkHasher, options: { readonly cacheBytes: number }) {
    this.#backend = backend;
    this.#hasher = hasher;
    this.#blocks = new BlockCache(options.cacheBytes);
  }

  /** The bytes of a chunk, a view into a cached block that must not be changed. No promise if the block is at hand. */
  read(chunk: StoredChunk): Uint8Array | Promise<Uint8Array> {
    const cached = this.#block(chunk);
    if (cached.raw !== undefined) return this.#cut(cached.raw, chunk);
    return cached.loading.then((raw) => this.#cut(raw, chunk));
  }

  /**
   * Starts to read the block of a chunk that will be needed soon, and proves a large chunk beside the caller. A failure
   * shows when the chunk is read.
   */
  prefetch(chunk: StoredChunk): void {
    const key = keyOf(chunk);
    if (this.#blocks.get(key) === undefined) this.#blocks.put(key, this.#load(chunk, true));
  }

  #block(chunk: StoredChunk): CachedBlock {
    const key = keyOf(chunk);
    return this.#blocks.get(key) ?? this.#blocks.put(key, this.#load(chunk, false));
  }

  async #load(chunk: StoredChunk, provesAhead: boolean): Promise<Uint8Array> {
    const raw = await readRawBlock(this.#backend, chunk.packId, chunk.blockOffset);
    if (!provesAhead) return raw;
    const proof = this.#hasher.idOfPooled(chunk.kind, bytesOf(raw, chunk));
    // A small chunk is proved when it is read: it costs as little there, and others of its block are read too.
    if (proof instanceof Promise && sameBytes(await proof, chunk.id)) this.#proved.set(raw, chunk);
    return raw;
  }

  #cut(raw: Uint8Array, chunk: StoredChunk): Uint8Array {
    const { packId, blockOffset } = chunk;
    const bytes = bytesOf(raw, chunk);
    if (bytes.length === chunk.lengthBytes) {
      if (isSameChunk(this.#proved.get(raw), chunk)) return bytes;
      if (sameBytes(this.#hasher.idOf(chunk.kind, bytes), chunk.id)) return bytes;
    }
    throw new CorruptDataError(
      `the bytes of chunk ${Buffer.from(chunk.id).toString('hex')} in pack ${packId} at offset ${blockOffset} are not what was stored`,
      { hint: 'Run `ldm check --read-data` to see what is hit, then `ldm repair`.' },
    );
  }
}

function keyOf({ packId, blockOffset }: StoredChunk): string {
  return `${packId}:${blockOffset}`;
}

function bytesOf(raw: Uint8Array, { offsetInBlock, lengthBytes }: StoredChunk): Uint8Array {
  return raw.subarray(offsetInBlock, offsetInBlock + lengthBytes);
}

function isSameChunk(proved: StoredChunk | undefined, chunk: StoredChunk): boolean {
  return (
    proved?.offsetInBlock === chunk.offsetInBlock &&
    proved.lengthBytes === chunk.lengthBytes &&
    proved.kind === chunk.kind &&
    sameBytes(proved.id, chunk.id)
  );
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
