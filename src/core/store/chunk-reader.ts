import type { Backend } from '../backend/backend.ts';
import { readAgain } from '../backend/sure-reading.ts';
import { CorruptDataError } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { packName } from '../format/layout.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import { BlockCache } from './block-cache.ts';
import { beginPart, openPart } from './block-part.ts';
import type { BegunPart, BlockSpan } from './block-part.ts';
import type { BlockCodec, VerifiedBlock } from './block-codec.ts';
import type { CachedBlock } from './block-cache.ts';
import { BlockSizeEstimate } from './block-size-estimate.ts';
import { BufferPool } from './buffer-pool.ts';
import { beginBlock, copyIdsOf, readBlockOnce, readHashedBlock, startsOf } from './pack-reader.ts';
import type { BegunBlock, BlockPlace, HashedBlock } from './pack-reader.ts';
import { keyOf, notItsId } from './stored-chunk.ts';
import type { OpenBlock, StoredChunk } from './stored-chunk.ts';

/** Most blocks are longer; blocks of a few small trees are not. */
const BUFFER_BYTES_MIN = 64 * 1024;
/** A stored block that is not compressed is a little longer than half of this. */
const SPLIT_BYTES = 8 * 1024 * 1024;
/** From this size on, copying uses significant memory, and the block contains little but the chunk. */
const UNCOPIED_BYTES_MIN = 4 * 1024 * 1024;

/** Reads chunks and verifies each against its id, so it never returns wrong bytes. */
export class ChunkReader {
  readonly #backend: Backend;
  readonly #codec: BlockCodec;
  readonly #pool: BufferPool;
  readonly #blocks: BlockCache<HashedBlock>;
  /** Blocks of trees are smaller. */
  readonly #sizes: Readonly<Record<ChunkKind, BlockSizeEstimate>>;
  /** Memory for blocks that `keep` is decompressing. */
  #reservedBytes = 0;

  /** `buffers`: memory that nothing else uses from now on. */
  constructor(
    backend: Backend,
    codec: BlockCodec,
    options: { readonly cacheBytes: number; readonly buffers?: BufferPool | undefined },
  ) {
    this.#backend = backend;
    this.#codec = codec;
    const { sealBytes } = codec.seals;
    this.#sizes = { data: new BlockSizeEstimate(sealBytes), tree: new BlockSizeEstimate(sealBytes) };
    this.#pool = options.buffers ?? new BufferPool({ sizeBytesMin: BUFFER_BYTES_MIN, splitBytes: SPLIT_BYTES });
    this.#blocks = new BlockCache(options.cacheBytes, ({ buffer }) => this.#pool.give(buffer));
  }

  /** Returns the bytes of a chunk, which stay valid. Returns no promise if the block is in memory. */
  read(chunk: StoredChunk): Uint8Array | Promise<Uint8Array> {
    let read: Uint8Array | undefined;
    const using = this.use(chunk, (bytes) => {
      const isCopied = bytes.length < UNCOPIED_BYTES_MIN;
      read = isCopied ? new Uint8Array(bytes) : bytes;
      if (!isCopied) this.#blocks.detach(keyOf(chunk));
    });
    return using === undefined ? read! : using.then(() => read!);
  }

  /**
   * Passes the bytes of a chunk to `action`, which must not change them; the memory is soon reused for another block.
   * Returns no promise if the block is in memory.
   */
  use(chunk: StoredChunk, action: (bytes: Uint8Array) => void): Promise<void> | undefined {
    const cached = this.#block(chunk);
    if (cached.loaded === undefined) return this.#useLoading(cached, chunk, action);
    const bytes = find(cached.loaded, chunk);
    if (bytes === undefined) return this.#useAgain(chunk, action);
    action(bytes);
    return undefined;
  }

  async #useLoading(
    cached: CachedBlock<HashedBlock>,
    chunk: StoredChunk,
    action: (bytes: Uint8Array) => void,
  ): Promise<void> {
    let isFound = false;
    await this.#blocks.use(cached, (block) => {
      const bytes = find(block, chunk);
      isFound = bytes !== undefined;
      if (bytes !== undefined) action(bytes);
    });
    if (!isFound) await this.#useAgain(chunk, action);
  }

  /** For a block that has the wrong bytes for a chunk, although it was a block. They may be right where it is stored. */
  async #useAgain(chunk: StoredChunk, action: (bytes: Uint8Array) => void): Promise<void> {
    this.#blocks.drop(keyOf(chunk));
    const block = await readAgain(this.#backend, packName(chunk.packId), async (from) => {
      const read = await readBlockOnce(from, this.#placeOf(chunk), this.#codec, this.#pool);
      if (find(read, chunk) !== undefined) return read;
      this.#pool.give(read.buffer);
      throw notItsId(chunk);
    });
    if (this.#blocks.get(keyOf(chunk)) === undefined) this.#blocks.add(keyOf(chunk), block);
    action(cut(block, chunk));
  }

  get readsAtOnce(): number {
    return this.#backend.readsAtOnce;
  }

  /** How many bytes the first read of the block of a chunk takes. */
  expectedBytesOf(chunk: StoredChunk): number {
    return this.#sizes[chunk.kind].bytesFor(chunk);
  }

  /** Begins to read the block of a chunk, for `openBlock`. `needed`: nothing outside of it will be used. */
  beginBlock(first: StoredChunk, needed?: BlockSpan): BegunBlock | BegunPart {
    const place = this.#placeOf(first);
    const range = needed && this.#sizes[first.kind].rangeOf(first, needed);
    const isInPack = range !== undefined && first.blockOffset + range.end <= first.packBytes;
    return isInPack ? beginPart(this.#backend, place, range, this.#pool) : beginBlock(this.#backend, place, this.#pool);
  }

  /** Reads a block past the cache, for a caller that knows everything it needs from the block. */
  async openBlock(first: StoredChunk, begun?: BegunBlock | BegunPart): Promise<OpenBlock> {
    if (begun !== undefined && 'part' in begun)
      return (await openPart(this.#codec, begun, this.#pool)) ?? (await this.openBlock(first));
    const block = await this.#read(first, begun);
    return { bytesOf: (chunk) => cut(block, chunk), release: () => this.#pool.give(block.buffer) };
  }

  /** Returns ids that can be used instead of that of a pack to read its single copies. See `copyIdsOf`. */
  async copyIdsOf(packId: string): Promise<string[]> {
    return await copyIdsOf(this.#backend, packId);
  }

  /**
   * Decompresses a block from `stored`, which must be shared memory, verifies it and keeps it in the cache, so that its
   * chunks need not be read from the disk. Returns undefined if it is there already or there is no room for it.
   * @throws CorruptDataError
   */
  keep(packId: string, block: PackedBlock, stored: Uint8Array): Promise<VerifiedBlock> | undefined {
    const key = keyOf({ packId, blockOffset: block.offset });
    const sizeBytes = this.#pool.sizeOfBuffer(block.rawBytes);
    const hasRoom = this.#reservedBytes + sizeBytes <= this.#blocks.freeBytes;
    return hasRoom && this.#blocks.get(key) === undefined ? this.#keep(key, block, stored) : undefined;
  }

  async #keep(key: string, block: PackedBlock, stored: Uint8Array): Promise<VerifiedBlock> {
    const buffer = this.#pool.take(block.rawBytes);
    this.#reservedBytes += buffer.length;
    try {
      const target = buffer.subarray(0, block.rawBytes);
      const { header, chunkIds, raw } = await this.#codec.open(stored, (sizeBytes) => {
        if (sizeBytes === block.rawBytes) return target;
        throw new CorruptDataError('its header differs from the segment');
      });
      const { kind, chunkLengths } = header;
      if (raw.length === target.length && Buffer.compare(chunkIds, block.chunkIds) === 0) {
        // The memory of a block that is not compressed is that of `stored`.
        if (header.codec === 'raw') target.set(raw);
        const chunkOffsets = startsOf(chunkLengths);
        this.#blocks.add(key, { buffer, kind, raw: target, chunkIds, chunkLengths, chunkOffsets });
      }
      return { header, chunkIds };
    } finally {
      this.#reservedBytes -= buffer.length;
      if (this.#blocks.get(key)?.loaded?.buffer !== buffer) this.#pool.give(buffer);
    }
  }

  #block(chunk: StoredChunk): CachedBlock<HashedBlock> {
    const key = keyOf(chunk);
    return this.#blocks.get(key) ?? this.#blocks.put(key, this.#read(chunk));
  }

  #placeOf(chunk: StoredChunk): BlockPlace {
    const { packId, packBytes, blockOffset: offset } = chunk;
    return { packId, packBytes, offset, expectedBytes: this.#sizes[chunk.kind].bytesFor(chunk) };
  }

  async #read(chunk: StoredChunk, begun?: BegunBlock): Promise<HashedBlock> {
    const { packId, packBytes } = chunk;
    if (chunk.kind === 'tree') this.#backend.expectReads?.(packName(packId), packBytes);
    const block = await readHashedBlock(this.#backend, this.#placeOf(chunk), this.#codec, this.#pool, begun);
    this.#sizes[chunk.kind].learn(block.raw.length, block.chunkLengths.length);
    return block;
  }
}

/**
 * Returns the bytes of a chunk, or undefined if the block does not have them at its place. The ids of the block were
 * computed from its bytes, so comparing the id at the position of the chunk verifies it.
 */
function find(block: HashedBlock, chunk: StoredChunk): Uint8Array | undefined {
  const { id, offsetInBlock, lengthBytes } = chunk;
  const index = indexOfStart(block.chunkOffsets, offsetInBlock);
  if (index < 0 || block.kind !== chunk.kind || block.chunkLengths[index] !== lengthBytes) return undefined;
  const found = block.chunkIds.subarray(index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES);
  return Buffer.compare(found, id) === 0 ? block.raw.subarray(offsetInBlock, offsetInBlock + lengthBytes) : undefined;
}

/** @throws CorruptDataError */
function cut(block: HashedBlock, chunk: StoredChunk): Uint8Array {
  const bytes = find(block, chunk);
  if (bytes === undefined) throw notItsId(chunk);
  return bytes;
}

/**
 * Index of `start` in a sorted array, or a negative number if absent. Uses binary search, because a block can hold
 * 65,536 chunks.
 */
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
