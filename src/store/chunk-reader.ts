import type { Backend } from '../backend/backend.ts';
import type { ChunkHasher } from '../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { BlockCache } from './block-cache.ts';
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

  constructor(backend: Backend, hasher: ChunkHasher, options: { readonly cacheBytes: number }) {
    this.#backend = backend;
    this.#hasher = hasher;
    this.#blocks = new BlockCache(options.cacheBytes);
  }

  /** The bytes of a chunk, a view into a cached block that must not be changed. No promise if the block is at hand. */
  read(chunk: StoredChunk): Uint8Array | Promise<Uint8Array> {
    const cached = this.#block(chunk.packId, chunk.blockOffset);
    if (cached.raw !== undefined) return this.#cut(cached.raw, chunk);
    return cached.loading.then((raw) => this.#cut(raw, chunk));
  }

  /** Starts to read a block that will be needed soon. A failure shows when the block is read. */
  prefetch(packId: string, blockOffset: number): void {
    this.#block(packId, blockOffset).loading.catch(() => undefined);
  }

  #block(packId: string, blockOffset: number): { loading: Promise<Uint8Array>; raw: Uint8Array | undefined } {
    const key = `${packId}:${blockOffset}`;
    return this.#blocks.get(key) ?? this.#blocks.put(key, readRawBlock(this.#backend, packId, blockOffset));
  }

  #cut(raw: Uint8Array, chunk: StoredChunk): Uint8Array {
    const { offsetInBlock, lengthBytes, packId, blockOffset } = chunk;
    const bytes = raw.subarray(offsetInBlock, offsetInBlock + lengthBytes);
    if (bytes.length === lengthBytes && sameBytes(this.#hasher.idOf(chunk.kind, bytes), chunk.id)) return bytes;
    throw new CorruptDataError(
      `the bytes of chunk ${Buffer.from(chunk.id).toString('hex')} in pack ${packId} at offset ${blockOffset} are not what was stored`,
      { hint: 'Run `ldm check --read-data` to see what is hit, then `ldm repair`.' },
    );
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
