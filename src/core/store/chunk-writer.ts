import type { PackHash } from '../crypto/pack-digest.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import { copyBytes } from '../util/copy-bytes.ts';
import type { StartedTask } from '../workers/task-pool.ts';
import type { BlockCodec, EncodedBlock } from './block-codec.ts';
import { BlockGatherer, loneBlock } from './block-gatherer.ts';
import type { RawBlock } from './block-gatherer.ts';
import { BufferPool } from './buffer-pool.ts';
import type { PackSink } from './pack-writer.ts';
import { looksDense } from './density.ts';
import { PackWriter } from './pack-writer.ts';
import { SlabPool } from './slab-pool.ts';
import type { StoreSizes } from './store-sizes.ts';

/** Trees are small and are read individually. */
const TREE_BLOCK_BYTES_MAX = 1024 * 1024;
/** From this size on, an incompressible chunk gets its own block, which avoids copying it into a shared one. */
const LONE_DENSE_BYTES_MIN = 256 * 1024;
/** Small, because many trees may be growing at the same time. */
const BUFFER_BYTES_MIN = 16 * 1024;
/**
 * Maximum number of slabs in use beside those of the blocks in the pipeline: two for the chunks whose ids are not known
 * yet, and an open one. If only a few chunks of each slab are new, they keep more slabs in use than their size suggests.
 */
const OTHER_SLABS_MAX = 3;

/**
 * Combines chunks of one kind into blocks, compresses several blocks at a time, and writes them to packs in their
 * original order.
 */
export class ChunkWriter {
  /**
   * Separates compressible from incompressible chunks, so that each block is either worth compressing or not worth
   * trying.
   */
  readonly #plain: BlockGatherer;
  readonly #dense: BlockGatherer;
  readonly #kind: ChunkKind;
  readonly #packs: PackWriter;
  readonly #codec: BlockCodec;
  readonly #pool: BufferPool;
  /** The memory of staged chunks. */
  readonly #slabs: SlabPool;
  readonly #inFlightBytesMax: number;
  readonly #slabsMax: number;
  #tail: Promise<void> = Promise.resolve();
  #inFlightBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(options: {
    readonly sink: PackSink;
    readonly kind: ChunkKind;
    readonly packHash: PackHash;
    readonly codec: BlockCodec;
    readonly sizes: StoreSizes;
    /**
     * While more blocks than this are in the compression pipeline, the caller waits. With one more than there are cores, a
     * first backup is not faster and takes 4 MB more.
     */
    readonly blocksAtOnce: number;
    readonly onPack: (pack: PackContents) => void;
  }) {
    const { sink, kind, packHash, onPack, sizes, blocksAtOnce } = options;
    const { packBytes } = sizes;
    const blockRawBytes = kind === 'tree' ? Math.min(sizes.blockRawBytes, TREE_BLOCK_BYTES_MAX) : sizes.blockRawBytes;
    this.#inFlightBytesMax = blocksAtOnce * blockRawBytes;
    this.#slabsMax = blocksAtOnce + OTHER_SLABS_MAX;
    this.#pool = new BufferPool({ sizeBytesMin: Math.min(blockRawBytes, BUFFER_BYTES_MIN) });
    this.#slabs = new SlabPool(this.#pool, blockRawBytes);
    this.#packs = new PackWriter({ sink, kind, packHash, seals: options.codec.seals, packBytes, onPack });
    this.#plain = new BlockGatherer(this.#pool, blockRawBytes);
    this.#dense = new BlockGatherer(this.#pool, blockRawBytes);
    this.#kind = kind;
    this.#codec = options.codec;
  }

  /** Returns the memory of both writers in buffers for blocks of trees. Both must be finished, and not used again. */
  takeBuffers(other: ChunkWriter): BufferPool {
    this.#pool.adopt(other.#pool, TREE_BLOCK_BYTES_MAX);
    return this.#pool;
  }

  /** Copies a chunk. If it returns a promise, the caller must wait for it, because the pipeline is full. */
  add(id: Uint8Array, bytes: Uint8Array): Promise<void> | undefined {
    this.#gather(id, bytes, this.#isDense(bytes));
    return this.#isFull ? this.#roomAgain() : this.#raise();
  }

  /**
   * Allocates memory, shared with the threads, for a chunk that the caller creates and passes to `addStaged` or `drop`.
   */
  allocate(sizeBytes: number): Buffer {
    return this.#pool.take(sizeBytes);
  }

  /** Copies a chunk into memory that is shared with the threads, for a later `addStaged` or `drop`. */
  stage(bytes: Uint8Array): StagedChunk {
    const buffer = this.#slabs.take(bytes.length);
    copyBytes(buffer, bytes, 0);
    return { buffer, lengthBytes: bytes.length };
  }

  /** Starts to compute the id of a chunk from `stage`. */
  startHash(chunk: StagedChunk): StartedTask<Uint8Array> {
    return this.#codec.startHash(this.#kind, bytesOfStaged(chunk));
  }

  /** Like `add`, for a chunk from `stage`. If the chunk gets its own block, it is not copied again. */
  addStaged(id: Uint8Array, chunk: StagedChunk): Promise<void> | undefined {
    const bytes = bytesOfStaged(chunk);
    const isDense = this.#isDense(bytes);
    if (this.#plain.isLone(bytes.length) || (isDense && bytes.length >= LONE_DENSE_BYTES_MIN)) {
      this.#submit(loneBlock(id, chunk.buffer, chunk.lengthBytes), isDense);
    } else {
      this.#gather(id, bytes, isDense);
      this.drop(chunk);
    }
    return this.#isFull ? this.#roomAgain() : this.#raise();
  }

  /** Frees the memory of a staged chunk that need not be stored. */
  drop({ buffer }: StagedChunk): void {
    this.#slabs.give(buffer);
  }

  /** Writes an already compressed block after everything that was added before. */
  async addEncoded(block: EncodedBlock): Promise<void> {
    this.#enqueue(async () => this.#packs.writeBlock(block));
    await this.#settled();
  }

  /**
   * Writes the unfinished blocks and closes the pack. Afterwards a published pack contains every chunk that was added.
   */
  async finish(): Promise<void> {
    for (const block of this.#plain.flush()) this.#submit(block, false);
    for (const block of this.#dense.flush()) this.#submit(block, true);
    await this.#settled();
    await this.#packs.finish();
  }

  /** Stops writing and removes the temporary file. */
  async abort(): Promise<void> {
    await this.#tail;
    await this.#packs.abort();
  }

  get #isFull(): boolean {
    const isInFlight = this.#inFlightBytes > 0;
    return isInFlight && (this.#inFlightBytes > this.#inFlightBytesMax || this.#slabs.slabCount > this.#slabsMax);
  }

  #gather(id: Uint8Array, bytes: Uint8Array, isDense: boolean): void {
    const gatherer = isDense ? this.#dense : this.#plain;
    for (const block of gatherer.add(id, bytes)) this.#submit(block, isDense);
  }

  #isDense(bytes: Uint8Array): boolean {
    return this.#kind === 'data' && looksDense(bytes);
  }

  #submit(block: RawBlock, isDense: boolean): void {
    this.#inFlightBytes += block.buffer.length;
    const raw = block.buffer.subarray(0, block.rawBytes);
    const encoded = this.#codec.encode(this.#kind, { ...block, raw }, { isDense });
    // The failure is handled in order, where the block is awaited; until then it must not count as unhandled.
    encoded.catch(() => undefined);
    this.#enqueue(async () => {
      await this.#packs.writeBlock(await encoded);
      this.#release(block);
    });
  }

  #release({ buffer }: RawBlock): void {
    this.#inFlightBytes -= buffer.length;
    this.#slabs.give(buffer);
    this.#wake?.();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  #enqueue(write: () => Promise<void>): void {
    this.#tail = this.#tail.then(async () => {
      try {
        if (this.#failure === undefined) await write();
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  async #roomAgain(): Promise<void> {
    while (this.#isFull && this.#failure === undefined) {
      const { promise, resolve } = settleLater();
      this.#wake = resolve;
      await promise;
    }
    await this.#raise();
  }

  async #settled(): Promise<void> {
    await this.#tail;
    await this.#raise();
  }

  #raise(): Promise<void> | undefined {
    // Throw the original error object of the storage, because its class determines the exit code.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    return this.#failure === undefined ? undefined : Promise.reject(this.#failure.error);
  }
}

/** A copy of a chunk in a buffer from the pool of the writer. */
export interface StagedChunk {
  readonly buffer: Buffer;
  readonly lengthBytes: number;
}

export function bytesOfStaged({ buffer, lengthBytes }: StagedChunk): Buffer {
  return buffer.subarray(0, lengthBytes);
}

function settleLater(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
