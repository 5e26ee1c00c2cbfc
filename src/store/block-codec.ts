import type { ChunkHasher } from '../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../errors.ts';
import {
  BLOCK_HEADER_BYTES,
  blockBytes,
  decodeBlockHeader,
  decodeBlockPrefix,
  encodeBlockHeader,
} from '../format/block.ts';
import type { BlockHeader, Codec } from '../format/block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { Compressor } from '../workers/compression.ts';
import type { IdInputs } from '../workers/task-messages.ts';
import type { StartedTask, TaskPool } from '../workers/task-pool.ts';

/** A block ready to be written. */
export interface SealedBlock {
  readonly codec: Codec;
  readonly rawBytes: number;
  /** Size of the payload. */
  readonly storedBytes: number;
  /** The bytes of the block, in pieces. */
  readonly pieces: readonly Uint8Array[];
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

/** The header of a stored block, and the ids of its chunks. */
export interface VerifiedBlock {
  readonly header: BlockHeader;
  /** The concatenated ids of the chunks, computed from their bytes. */
  readonly chunkIds: Uint8Array;
}

/** The contents of a stored block. */
export interface OpenedBlock extends VerifiedBlock {
  readonly raw: Uint8Array;
}

/** Returns the size of a whole block. `prefix`: its first `BLOCK_PREFIX_BYTES` bytes or more. */
export function sizeOfBlock(prefix: Uint8Array): number {
  const { chunkCount, storedBytes } = decodeBlockPrefix(prefix);
  return blockBytes(chunkCount, storedBytes);
}

/** So many bytes of a block are needed to learn its size. */
export const BLOCK_PREFIX_BYTES: number = BLOCK_HEADER_BYTES;

/**
 * The only place where the blocks of packs are made and taken apart: compression, checksums and chunk ids. The work is
 * done in the task pool.
 */
export class BlockCodec {
  readonly #hasher: ChunkHasher;
  readonly #threads: TaskPool;
  readonly #compressor: Compressor;

  constructor(made: { readonly hasher: ChunkHasher; readonly threads: TaskPool; readonly compressor: Compressor }) {
    this.#hasher = made.hasher;
    this.#threads = made.threads;
    this.#compressor = made.compressor;
  }

  /**
   * Compresses the chunks of a block. The output overwrites `raw`, so the caller must not use it until the block is
   * written. `isDense` marks bytes that are probably incompressible.
   */
  async seal(
    kind: ChunkKind,
    block: { readonly raw: Buffer; readonly chunkIds: Uint8Array; readonly chunkLengths: Uint32Array },
    options: { readonly isDense: boolean },
  ): Promise<SealedBlock> {
    const { raw, chunkIds, chunkLengths } = block;
    const rawBytes = raw.length;
    const { codec, bytes } = await this.#compressor.compress(raw, options);
    const storedBytes = bytes.length;
    const header = encodeBlockHeader({ kind, codec, rawBytes, storedBytes, chunkLengths });
    return { codec, rawBytes, storedBytes, chunkIds, chunkLengths, pieces: [header, bytes] };
  }

  /**
   * Decompresses a block and computes the ids of its chunks. `stored` may be longer than the block. Its memory is
   * transferred to a thread unless it is shared, so the caller loses it.
   *
   * `allocate` returns shared memory for the raw bytes, and is called only if they are compressed. By default they get
   * their own memory.
   * @throws CorruptDataError
   */
  async open(stored: Uint8Array, allocate?: (sizeBytes: number) => Uint8Array): Promise<OpenedBlock> {
    const { header, payload, idInputs } = this.#take(stored);
    const { codec, rawBytes } = header;
    const target = codec === 'raw' ? undefined : allocate?.(rawBytes);
    return { header, ...(await this.#threads.run({ name: 'decompress', codec, payload, rawBytes, target, idInputs })) };
  }

  /**
   * Computes the ids of the chunks like `open`, without returning the raw bytes. The caller keeps `stored`.
   * @throws CorruptDataError
   */
  async verify(stored: Uint8Array): Promise<VerifiedBlock> {
    const { header, payload, idInputs } = this.#take(stored);
    const { codec, rawBytes } = header;
    return { header, chunkIds: await this.#threads.run({ name: 'verify', codec, payload, rawBytes, idInputs }) };
  }

  /** Starts to compute the id of a chunk. Bytes in shared memory are not copied, and must not change meanwhile. */
  startHash(kind: ChunkKind, bytes: Uint8Array): StartedTask<Uint8Array> {
    return this.#threads.start({ name: 'hash', bytes, key: this.#hasher.keyOf(kind) });
  }

  #take(stored: Uint8Array): { header: BlockHeader; payload: Uint8Array; idInputs: IdInputs } {
    const header = decodeBlockHeader(stored);
    const { kind, storedBytes, chunkLengths } = header;
    const endOffset = blockBytes(chunkLengths.length, storedBytes);
    if (stored.length < endOffset) throw new CorruptDataError('the pack ends before the end of the block');
    const payload = stored.subarray(endOffset - storedBytes, endOffset);
    return { header, payload, idInputs: { key: this.#hasher.keyOf(kind), chunkLengths } };
  }
}
