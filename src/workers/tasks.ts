import { hash } from 'node:crypto';
import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import { CorruptDataError, LdmError } from '../errors.ts';
import type { Codec } from '../format/block.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { readFiles, writeFiles } from './file-tasks.ts';
import type { FilesRead, ReadTask, WriteTask } from './file-tasks.ts';
import { ScratchBuffer } from './scratch-buffer.ts';
import { LARGE_BLOCK_BYTES, assertLength, openZstd, unfoldZstd } from './zstd.ts';

/** Compresses `raw` in place; returns the compressed bytes, or undefined if they are not significantly smaller. */
export interface CompressTask {
  readonly name: 'compress';
  readonly raw: Uint8Array;
  readonly level: number;
}

/** Decompresses a stored block. */
export interface UnpackTask {
  readonly name: 'unpack';
  readonly codec: Codec;
  readonly payload: Uint8Array;
  readonly rawBytes: number;
  /** Shared memory for `rawBytes` bytes, used if the payload is compressed; by default new memory is allocated. */
  readonly target?: Uint8Array | undefined;
  /** Also computes the ids of the chunks. */
  readonly proof?: BlockProof;
}

/** The key and the chunk lengths, which are needed to compute the ids of the chunks in a block. */
export interface BlockProof {
  readonly key: ChunkIdKey;
  readonly chunkLengths: Uint32Array;
}

/** Like `UnpackTask`, but returns only the ids of the chunks. */
export interface ProveTask {
  readonly name: 'prove';
  readonly codec: Codec;
  readonly payload: Uint8Array;
  readonly rawBytes: number;
  readonly proof: BlockProof;
}

/** The raw bytes of a block. */
export interface UnpackedBlock {
  readonly raw: Uint8Array;
  /** The concatenated ids of the chunks, computed from the bytes; empty unless requested. */
  readonly chunkIds: Uint8Array;
}

/** Computes the id of a chunk. */
export interface IdentifyTask {
  readonly name: 'identify';
  readonly bytes: Uint8Array;
  readonly key: ChunkIdKey;
}

export type Task = CompressTask | UnpackTask | ProveTask | IdentifyTask | ReadTask | WriteTask;

export interface TaskResults {
  readonly compress: Uint8Array | undefined;
  readonly unpack: UnpackedBlock;
  readonly prove: Uint8Array;
  readonly identify: Uint8Array;
  readonly read: FilesRead;
  readonly write: Uint8Array;
}

/** A block is stored compressed if it shrinks by at least one part in this many. */
const SHRINK_DIVISOR = 32;

const scratch = new ScratchBuffer();

/** Runs a task on the calling thread. */
export function perform<T extends Task>(task: T): TaskResults[T['name']];
export function perform(task: Task): TaskResults[Task['name']] {
  switch (task.name) {
    case 'compress':
      return compressInPlace(task);
    case 'unpack':
      return unpack(task);
    case 'prove':
      return unpack({ ...task, name: 'unpack', target: scratchFor(task.rawBytes) }).chunkIds;
    case 'identify':
      return chunkIdOf(task.key, task.bytes);
    case 'read':
      return readFiles(task);
    case 'write':
      return writeFiles(task);
    default:
      throw new Error(`no such task: ${JSON.stringify(task satisfies never)}`);
  }
}

/** Decompresses again and compares, because compressor bugs have cost other tools data. */
function compressInPlace({ raw, level }: CompressTask): Uint8Array | undefined {
  const compressed = openZstd(raw.length).compress(raw, level);
  if (!shrinks(raw.length, compressed.length)) return undefined;
  if (!unfoldsTo(raw, compressed)) {
    throw new LdmError('zstd produced a block that does not decompress to its input', {
      hint: 'The memory of this machine or the compressor is faulty. Nothing was stored; run the command again.',
    });
  }
  raw.set(compressed);
  return raw.subarray(0, compressed.length);
}

function unfoldsTo(raw: Uint8Array, compressed: Uint8Array): boolean {
  try {
    // For a large block, saving as much memory again is worth the time for two digests.
    if (raw.length < LARGE_BLOCK_BYTES)
      return Buffer.compare(raw, unfoldZstd(compressed, scratchFor(raw.length))) === 0;
    const digest = hash('sha1', raw);
    return hash('sha1', unfoldZstd(compressed, raw)) === digest;
  } catch (error) {
    if (error instanceof CorruptDataError) return false;
    throw error;
  }
}

export function shrinks(rawBytes: number, compressedBytes: number): boolean {
  return compressedBytes <= rawBytes - rawBytes / SHRINK_DIVISOR;
}

function scratchFor(sizeBytes: number): Buffer {
  return scratch.atLeast(sizeBytes).subarray(0, sizeBytes);
}

function unpack({ codec, payload, rawBytes, target, proof }: UnpackTask): UnpackedBlock {
  const raw = codec === 'raw' ? payload : unfoldZstd(payload, target ?? Buffer.allocUnsafeSlow(rawBytes));
  assertLength(raw.length, rawBytes);
  return { raw, chunkIds: proof === undefined ? new Uint8Array() : chunkIdsOf(raw, proof) };
}

function chunkIdsOf(raw: Uint8Array, { key, chunkLengths }: BlockProof): Uint8Array {
  const chunkIds = new Uint8Array(chunkLengths.length * CHUNK_ID_BYTES);
  let offset = 0;
  for (const [index, lengthBytes] of chunkLengths.entries()) {
    chunkIds.set(chunkIdOf(key, raw.subarray(offset, offset + lengthBytes)), index * CHUNK_ID_BYTES);
    offset += lengthBytes;
  }
  return chunkIds;
}
