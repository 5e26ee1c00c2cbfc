import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { copyBytes } from '../util/copy-bytes.ts';
import type { BufferPool } from './buffer-pool.ts';

/** Raw bytes that are compressed together, with the ids and lengths of their chunks. */
export interface RawBlock {
  /** Owned by the pool; the block is its first `rawBytes` bytes. */
  readonly buffer: Buffer;
  readonly rawBytes: number;
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

const CHUNKS_MAX = 64 * 1024;
const IDS_BYTES_MIN = 256 * CHUNK_ID_BYTES;

/** Combines chunks into blocks. */
export class BlockGatherer {
  readonly #pool: BufferPool;
  readonly #blockRawBytes: number;
  #buffer: Buffer | undefined;
  #rawBytes = 0;
  /** The ids, one after the other: a view of each would be 100 bytes of garbage per chunk. */
  #ids = Buffer.allocUnsafeSlow(IDS_BYTES_MIN);
  #lengths: number[] = [];

  constructor(pool: BufferPool, blockRawBytes: number) {
    this.#pool = pool;
    this.#blockRawBytes = blockRawBytes;
  }

  /** Copies a chunk and returns the blocks that are now full. */
  add(id: Uint8Array, bytes: Uint8Array): RawBlock[] {
    if (this.isLone(bytes.length)) return [this.#copiedBlock(id, bytes)];
    const isFull = this.#rawBytes + bytes.length > this.#blockRawBytes || this.#lengths.length === CHUNKS_MAX;
    const full = isFull ? this.flush() : [];
    this.#buffer ??= this.#pool.take(this.#blockRawBytes);
    copyBytes(this.#buffer, bytes, this.#rawBytes);
    this.#rawBytes += bytes.length;
    this.#appendId(id);
    this.#lengths.push(bytes.length);
    return full;
  }

  /** Returns the unfinished block, if any. */
  flush(): RawBlock[] {
    if (this.#buffer === undefined) return [];
    const block = {
      buffer: this.#buffer,
      rawBytes: this.#rawBytes,
      chunkIds: Uint8Array.from(this.#ids.subarray(0, this.#lengths.length * CHUNK_ID_BYTES)),
      chunkLengths: Uint32Array.from(this.#lengths),
    };
    this.#buffer = undefined;
    this.#rawBytes = 0;
    this.#lengths = [];
    return [block];
  }

  #appendId(id: Uint8Array): void {
    const offset = this.#lengths.length * CHUNK_ID_BYTES;
    if (offset === this.#ids.length) {
      const larger = Buffer.allocUnsafeSlow(2 * offset);
      this.#ids.copy(larger);
      this.#ids = larger;
    }
    this.#ids.set(id, offset);
  }

  /** A chunk that fills more than half a block gets its own block. */
  isLone(lengthBytes: number): boolean {
    return lengthBytes > this.#blockRawBytes / 2;
  }

  #copiedBlock(id: Uint8Array, bytes: Uint8Array): RawBlock {
    const buffer = this.#pool.take(bytes.length);
    copyBytes(buffer, bytes, 0);
    return loneBlock(id, buffer, bytes.length);
  }
}

/** Creates a block for a single chunk. */
export function loneBlock(id: Uint8Array, buffer: Buffer, rawBytes: number): RawBlock {
  return { buffer, rawBytes, chunkIds: id, chunkLengths: Uint32Array.of(rawBytes) };
}
