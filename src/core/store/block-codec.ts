import type { ChunkHasher } from '../crypto/chunk-hasher.ts';
import {
  ENVELOPE_BYTES,
  ENVELOPE_HEADER_BYTES,
  ENVELOPE_MAGIC,
  EnvelopeOpener,
  epochOfEnvelope,
  sizeOfEnvelope,
} from '../crypto/envelope.ts';
import type { Seals } from '../crypto/seals.ts';
import assert from 'node:assert/strict';
import { BorrowedChunkError, CorruptDataError } from '../errors.ts';
import {
  BLOCK_HEADER_BYTES,
  blockBytes,
  decodeBlockHeader,
  decodeBlockPrefix,
  encodeBlockHeader,
} from '../format/block.ts';
import type { BlockHeader, Codec } from '../format/block.ts';
import { decodeBorrowedBlock, encodeBorrowedBlock } from '../format/borrowed-block.ts';
import type { BorrowedChunks } from '../format/borrowed-block.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { BLOCK_MAGIC, MAX_BLOCK_CHUNKS, MAX_BLOCK_STORED_BYTES } from '../format/constants.ts';
import type { Compressor } from '../workers/compression.ts';
import type { BlockEnvelope, IdInputs } from '../workers/task-messages.ts';
import type { StartedTask, TaskPool } from '../workers/task-pool.ts';

/** A block ready to be written. */
export interface EncodedBlock {
  readonly codec: Codec;
  /** Size of the whole block. */
  readonly sizeBytes: number;
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

/** The part of a stored block that is decompressed, and how. */
interface TakenBlock {
  readonly header: BlockHeader;
  /** The payload, or the whole envelope. */
  readonly payload: Uint8Array;
  readonly envelope: BlockEnvelope | undefined;
  readonly idInputs: IdInputs;
}

/** Returns the size of a whole block, sealed or not. `prefix`: its first `BLOCK_PREFIX_BYTES` bytes or more. */
export function sizeOfBlock(prefix: Uint8Array): number {
  if (isSealed(prefix)) {
    const sizeBytes = sizeOfEnvelope(prefix);
    if (sizeBytes <= MAX_SEALED_BYTES) return sizeBytes;
    throw new CorruptDataError(`a block cannot have ${sizeBytes} bytes`);
  }
  const { chunkCount, storedBytes } = decodeBlockPrefix(prefix);
  return blockBytes(chunkCount, storedBytes);
}

const MAX_SEALED_BYTES: number = blockBytes(MAX_BLOCK_CHUNKS, MAX_BLOCK_STORED_BYTES) + ENVELOPE_BYTES;

/** Number of bytes of a block that are needed to learn its size. */
export const BLOCK_PREFIX_BYTES: number = BLOCK_HEADER_BYTES;
assert(BLOCK_PREFIX_BYTES === ENVELOPE_HEADER_BYTES);

function isSealed(bytes: Uint8Array): boolean {
  return ENVELOPE_MAGIC.every((byte, index) => bytes[index] === byte);
}

/**
 * The only place where the blocks of packs are made and taken apart: compression, sealing, checksums and chunk ids. The
 * work is done in the task pool.
 */
export class BlockCodec {
  readonly hasher: ChunkHasher;
  readonly #threads: TaskPool;
  readonly #compressor: Compressor;
  readonly seals: Seals;

  constructor(made: {
    readonly hasher: ChunkHasher;
    readonly threads: TaskPool;
    readonly compressor: Compressor;
    readonly seals: Seals;
  }) {
    this.hasher = made.hasher;
    this.#threads = made.threads;
    this.#compressor = made.compressor;
    this.seals = made.seals;
  }

  /**
   * Compresses and seals the chunks of a block. The output overwrites `raw`, so the caller must not use it until the block is
   * written. `isDense` marks bytes that are probably incompressible.
   */
  async encode(
    kind: ChunkKind,
    block: { readonly raw: Buffer; readonly chunkIds: Uint8Array; readonly chunkLengths: Uint32Array },
    options: { readonly isDense: boolean },
  ): Promise<EncodedBlock> {
    const { raw, chunkIds, chunkLengths } = block;
    const rawBytes = raw.length;
    const { keys } = this.seals;
    if (keys !== undefined) {
      const key = keys.keyOf('blocks');
      const sealed = await this.#compressor.seal({ raw, key, kind, chunkLengths }, options);
      const { codec, head, payload, tag } = sealed;
      const sizeBytes = head.length + payload.length + tag.length;
      const storedBytes = payload.length;
      return { codec, sizeBytes, rawBytes, storedBytes, chunkIds, chunkLengths, pieces: [head, payload, tag] };
    }
    const { codec, bytes } = await this.#compressor.compress(raw, options);
    const storedBytes = bytes.length;
    const header = encodeBlockHeader({ kind, codec, rawBytes, storedBytes, chunkLengths });
    const sizeBytes = header.length + storedBytes;
    return { codec, sizeBytes, rawBytes, storedBytes, chunkIds, chunkLengths, pieces: [header, bytes] };
  }

  /**
   * Decompresses a block and computes the ids of its chunks. `stored` may be longer than the block. Its memory is
   * transferred to a thread unless it is shared, so the caller loses it.
   *
   * `allocate` returns shared memory for the raw bytes, and is called only if they are compressed. By default they get
   * their own memory.
   * @throws CorruptDataError
   * @throws BorrowedChunkError if another domain has the bytes
   */
  async open(stored: Uint8Array, allocate?: (sizeBytes: number) => Uint8Array): Promise<OpenedBlock> {
    const { header, ...taken } = this.#take(stored);
    if (header.codec === 'borrowed') {
      const { domainId } = this.openBorrowed(stored);
      throw new BorrowedChunkError(
        domainId,
        `the domain ${domainId.slice(0, 8)} keeps the chunks, not this repository`,
      );
    }
    const { codec, rawBytes } = header;
    const target = codec === 'raw' ? undefined : allocate?.(rawBytes);
    return { header, ...(await this.#threads.run({ name: 'decompress', codec, rawBytes, target, ...taken })) };
  }

  /**
   * Computes the ids of the chunks like `open`, without returning the raw bytes. The caller keeps `stored`. Borrowed
   * chunks have the ids that their block says.
   * @throws CorruptDataError
   */
  async verify(stored: Uint8Array): Promise<VerifiedBlock> {
    const { header, ...taken } = this.#take(stored);
    const { codec, rawBytes } = header;
    if (codec === 'borrowed') return this.openBorrowed(stored);
    return { header, chunkIds: await this.#threads.run({ name: 'verify', codec, rawBytes, ...taken }) };
  }

  /** Returns the block, ready to be written, that says who keeps some chunks. */
  encodeBorrowed(chunks: BorrowedChunks): EncodedBlock {
    const { chunkIds, chunkLengths } = chunks;
    const plain = encodeBorrowedBlock(chunks);
    const { rawBytes, storedBytes, codec } = decodeBlockPrefix(plain);
    const piece = this.seals.keys === undefined ? plain : this.seals.seal('blocks', plain);
    return { codec, sizeBytes: piece.length, rawBytes, storedBytes, chunkIds, chunkLengths, pieces: [piece] };
  }

  /**
   * Reads and verifies a block of borrowed chunks.
   * @throws CorruptDataError
   */
  openBorrowed(stored: Uint8Array): BorrowedChunks & VerifiedBlock {
    if (this.seals.keys === undefined) return decodeBorrowedBlock(stored);
    return decodeBorrowedBlock(this.seals.open('blocks', stored.subarray(0, sizeOfBlock(stored))));
  }

  /** Returns the same block under the present key: all blocks of a pack have the same. Does not compress it again. */
  reseal(stored: Uint8Array): Uint8Array {
    const { keys } = this.seals;
    if (keys === undefined || epochOfEnvelope(stored) === keys.epoch) return stored;
    return this.seals.seal('blocks', this.seals.open('blocks', stored));
  }

  /** The first bytes of a block. */
  get blockMagic(): Buffer {
    if (this.seals.keys !== undefined) return ENVELOPE_MAGIC;
    const magic = Buffer.alloc(4);
    magic.writeUInt32LE(BLOCK_MAGIC);
    return magic;
  }

  /**
   * Reads the header of a block without its payload.
   * @throws CorruptDataError if there is none
   */
  readHeader(stored: Uint8Array): BlockHeader {
    return this.#take(stored).header;
  }

  /** Starts to compute the id of a chunk. Bytes in shared memory are not copied, and must not change meanwhile. */
  startHash(kind: ChunkKind, bytes: Uint8Array): StartedTask<Uint8Array> {
    return this.#threads.start({ name: 'hash', bytes, key: this.hasher.keyOf(kind) });
  }

  #take(stored: Uint8Array): TakenBlock {
    if (this.seals.keys !== undefined) return this.#takeSealed(stored);
    const header = decodeBlockHeader(stored);
    const { kind, storedBytes, chunkLengths } = header;
    const endOffset = blockBytes(chunkLengths.length, storedBytes);
    if (stored.length < endOffset) throw new CorruptDataError('the pack ends before the end of the block');
    const payload = stored.subarray(endOffset - storedBytes, endOffset);
    return { header, payload, envelope: undefined, idInputs: { key: this.hasher.keyOf(kind), chunkLengths } };
  }

  /**
   * Decrypts the header and the table to learn the sizes. Nothing has verified them by then; the thread that decrypts the
   * payload verifies all of the block.
   */
  #takeSealed(stored: Uint8Array): TakenBlock {
    const sizeBytes = stored.length < ENVELOPE_HEADER_BYTES ? 0 : sizeOfEnvelope(stored);
    if (stored.length < sizeBytes) throw new CorruptDataError('the pack ends before the end of the block');
    const payload = stored.subarray(0, sizeBytes);
    const key = this.seals.keys!.keyOf('blocks', epochOfEnvelope(payload));
    const opener = new EnvelopeOpener(key, payload);
    const prefix = Buffer.alloc(BLOCK_HEADER_BYTES);
    opener.decrypt(prefix);
    const { chunkCount, storedBytes } = decodeBlockPrefix(prefix);
    const table = Buffer.alloc(Math.max(0, opener.leftBytes - storedBytes));
    if (table.length !== blockBytes(chunkCount, 0) - BLOCK_HEADER_BYTES)
      throw new CorruptDataError('it has a wrong size');
    opener.decrypt(table);
    const header = decodeBlockHeader(Buffer.concat([prefix, table]));
    const { kind, chunkLengths } = header;
    const envelope = { key, headBytes: prefix.length + table.length };
    return { header, payload, envelope, idInputs: { key: this.hasher.keyOf(kind), chunkLengths } };
  }
}
