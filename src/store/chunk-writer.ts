import { availableParallelism } from 'node:os';
import type { PackHash } from '../crypto/pack-digest.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import { copyBytes } from '../util/copy-bytes.ts';
import type { Compressor } from '../workers/compression.ts';
import { BlockGatherer, loneBlock } from './block-gatherer.ts';
import type { RawBlock } from './block-gatherer.ts';
import { BufferPool } from './buffer-pool.ts';
import type { PackSink } from './pack-sink.ts';
import { looksDense } from './density.ts';
import { PackWriter } from './pack-writer.ts';
import type { StoredBlock } from './pack-writer.ts';
import type { StoreSizes } from './store-sizes.ts';

/** Trees are few bytes, and are read one by one. */
const TREE_BLOCK_BYTES_MAX = 1024 * 1024;
/** A chunk that will not shrink is worth a block of its own from here on, rather than a copy into a common one. */
const LONE_DENSE_BYTES_MIN = 256 * 1024;
/** Thousands of the smallest chunks may be held at a time. */
const BUFFER_BYTES_MIN = 16 * 1024;
/** How many blocks may be on their way through compression: one for every core, and one that is being written. */
const IN_FLIGHT_BLOCKS_MAX: number = 1 + Math.max(2, availableParallelism());

/**
 * Takes chunks of one kind, gathers them into blocks, compresses several blocks at a time and writes them, in the order
 * they came, into packs.
 */
export class ChunkWriter {
  /** Chunks that shrink and chunks that do not are kept apart: each block is then worth compressing, or not worth trying. */
  readonly #plain: BlockGatherer;
  readonly #dense: BlockGatherer;
  readonly #kind: ChunkKind;
  readonly #packs: PackWriter;
  readonly #compressor: Compressor;
  readonly #pool: BufferPool;
  readonly #inFlightBytesMax: number;
  #tail: Promise<void> = Promise.resolve();
  #inFlightBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(options: {
    readonly sink: PackSink;
    readonly kind: ChunkKind;
    readonly packHash: PackHash;
    readonly compressor: Compressor;
    readonly sizes: StoreSizes;
    readonly onPack: (pack: PackContents) => void;
  }) {
    const { sink, kind, packHash, onPack, sizes } = options;
    const { packBytes } = sizes;
    const blockRawBytes = kind === 'tree' ? Math.min(sizes.blockRawBytes, TREE_BLOCK_BYTES_MAX) : sizes.blockRawBytes;
    this.#inFlightBytesMax = IN_FLIGHT_BLOCKS_MAX * blockRawBytes;
    this.#pool = new BufferPool({ sizeBytesMin: Math.min(blockRawBytes, BUFFER_BYTES_MIN) });
    this.#packs = new PackWriter({ sink, kind, packHash, packBytes, onPack });
    this.#plain = new BlockGatherer(this.#pool, blockRawBytes);
    this.#dense = new BlockGatherer(this.#pool, blockRawBytes);
    this.#kind = kind;
    this.#compressor = options.compressor;
  }

  /** Takes a copy of a chunk. The promise, if there is one, asks the caller to wait for room. */
  add(id: Uint8Array, bytes: Uint8Array): Promise<void> | undefined {
    this.#gather(id, bytes, this.#isDense(bytes));
    return this.#inFlightBytes > this.#inFlightBytesMax ? this.#roomAgain() : this.#raise();
  }

  /** Memory for a chunk that is still to be made, shared with the threads; for `addHeld` or `drop`. */
  allocate(sizeBytes: number): Buffer {
    return this.#pool.take(sizeBytes);
  }

  /** Copies a chunk into memory of its own, shared with the threads, for `addHeld` or `drop`. */
  hold(bytes: Uint8Array): HeldChunk {
    const buffer = this.allocate(bytes.length);
    copyBytes(buffer, bytes, 0);
    return { buffer, lengthBytes: bytes.length };
  }

  /** As `add`, for a chunk that was held. One that is a block of its own is not copied again. */
  addHeld(id: Uint8Array, held: HeldChunk): Promise<void> | undefined {
    const bytes = bytesOfHeld(held);
    const isDense = this.#isDense(bytes);
    if (this.#plain.isLone(bytes.length) || (isDense && bytes.length >= LONE_DENSE_BYTES_MIN)) {
      this.#submit(loneBlock(id, held.buffer, held.lengthBytes), isDense);
    } else {
      this.#gather(id, bytes, isDense);
      this.drop(held);
    }
    return this.#inFlightBytes > this.#inFlightBytesMax ? this.#roomAgain() : this.#raise();
  }

  /** Gives the memory of a chunk back that need not be stored. */
  drop({ buffer }: HeldChunk): void {
    this.#pool.give(buffer);
  }

  /** Writes a block that is compressed already, behind everything that was added before. */
  async addStored(block: StoredBlock): Promise<void> {
    this.#enqueue(async () => this.#packs.writeBlock(block));
    await this.#settled();
  }

  /** Writes what is gathered and closes the pack: afterwards every chunk that was added is in a published pack. */
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

  #gather(id: Uint8Array, bytes: Uint8Array, isDense: boolean): void {
    const gatherer = isDense ? this.#dense : this.#plain;
    for (const block of gatherer.add(id, bytes)) this.#submit(block, isDense);
  }

  #isDense(bytes: Uint8Array): boolean {
    return this.#kind === 'data' && looksDense(bytes);
  }

  #submit(block: RawBlock, isDense: boolean): void {
    this.#inFlightBytes += block.buffer.length;
    const compressed = this.#compressor.compress(block.buffer.subarray(0, block.rawBytes), { isDense });
    // The failure is taken where the block is awaited, in order; until then it must not count as unhandled.
    compressed.catch(() => undefined);
    this.#enqueue(async () => {
      const { codec, bytes } = await compressed;
      await this.#packs.writeBlock({ ...block, codec, payload: bytes });
      this.#release(block);
    });
  }

  #release({ buffer }: RawBlock): void {
    this.#inFlightBytes -= buffer.length;
    this.#pool.give(buffer);
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
    while (this.#inFlightBytes > this.#inFlightBytesMax && this.#failure === undefined) {
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
    // The very error object of the storage, so that its class decides what happens.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    return this.#failure === undefined ? undefined : Promise.reject(this.#failure.error);
  }
}

/** A copy of a chunk, in memory that belongs to the writer's pool. */
export interface HeldChunk {
  readonly buffer: Buffer;
  readonly lengthBytes: number;
}

export function bytesOfHeld({ buffer, lengthBytes }: HeldChunk): Buffer {
  return buffer.subarray(0, lengthBytes);
}

function settleLater(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
