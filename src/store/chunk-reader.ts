import type { Backend } from '../backend/backend.ts';
import type { ChunkHasher } from '../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { BlockCache } from './block-cache.ts';
import type { CachedBlock } from './block-cache.ts';
import { readHashedBlock } from './pack-reader.ts';
import type { HashedBlock } from './pack-reader.ts';

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
  readonly #blocks: BlockCache<HashedBlock>;

  constructor(backend: Backend, hasher: ChunkHasher, options: { readonly cacheBytes: number }) {
    this.#backend = backend;
    this.#hasher = hasher;
    this.#blocks = new BlockCache(options.cacheBytes);
  }

  /** The bytes of a chunk, a view into a cached block that must not be changed. No promise if the block is at hand. */
  read(chunk: StoredChunk): Uint8Array | Promise<Uint8Array> {
    const cached = this.#block(chunk);
    if (cached.loaded !== undefined) return cut(cached.loaded, chunk);
    return cached.loading.then((block) => cut(block, chunk));
  }

  /** Starts to read the block of a chunk that will be needed soon. A failure shows when the chunk is read. */
  prefetch(chunk: StoredChunk): void {
    this.#block(chunk);
  }

  #block(chunk: StoredChunk): CachedBlock<HashedBlock> {
    const { packId, blockOffset } = chunk;
    const key = `${packId}:${blockOffset}`;
    const cached = this.#blocks.get(key);
    return cached ?? this.#blocks.put(key, readHashedBlock(this.#backend, packId, blockOffset, this.#hasher));
  }
}

/** The block's ids were computed from its bytes, so an equal id at the chunk's place proves the chunk. */
function cut(block: HashedBlock, chunk: StoredChunk): Uint8Array {
  const { id, packId, offsetInBlock, blockOffset, lengthBytes } = chunk;
  const index = indexOfStart(block.chunkOffsets, offsetInBlock);
  if (index >= 0 && block.kind === chunk.kind && block.chunkLengths[index] === lengthBytes) {
    const found = block.chunkIds.subarray(index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES);
    if (Buffer.compare(found, id) === 0) return block.raw.subarray(offsetInBlock, offsetInBlock + lengthBytes);
  }
  throw new CorruptDataError(
    `the bytes of chunk ${Buffer.from(id).toString('hex')} in pack ${packId} at offset ${blockOffset} are not what was stored`,
    { hint: 'Run `ldm check --read-data` to see what is hit, then `ldm repair`.' },
  );
}

/** The position of `start` among ascending numbers, by halving: a block may hold 65,536 chunks. Below 0 if there is none. */
function indexOfStart(starts: Uint32Array, start: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = starts[middle]!;
    if (found === start) return middle;
    if (found < start) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
