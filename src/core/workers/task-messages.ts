import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import type { EnvelopeKey } from '../crypto/envelope.ts';
import type { TargetPolicy } from '../files/target/target-policy.ts';
import type { BlockHeader, Codec } from '../format/block.ts';
import type { PackedAttributes } from '../files/source/attribute-lists.ts';
import type { FilesToWrite, ListedFiles } from './file-lists.ts';

/** Everything that the main thread and the threads of the pool send to each other. */

/** Compresses `raw` in place; returns the compressed bytes, or undefined if they are not significantly smaller. */
export interface CompressTask {
  readonly name: 'compress';
  readonly raw: Uint8Array;
  readonly level: number;
}

/**
 * Compresses `raw` in place like `CompressTask`, unless `level` is undefined, and seals the whole block; its payload
 * stays in this memory.
 */
export interface SealTask {
  readonly name: 'seal';
  readonly raw: Uint8Array;
  readonly level: number | undefined;
  readonly key: EnvelopeKey;
  readonly kind: BlockHeader['kind'];
  readonly chunkLengths: Uint32Array;
}

/** A sealed block in three pieces: the beginning of the envelope up to the payload, the payload, and the tag. */
export interface SealedBlock {
  readonly codec: Codec;
  readonly head: Uint8Array;
  readonly payload: Uint8Array;
  readonly tag: Uint8Array;
}

/** How to open the envelope around a block. */
export interface BlockEnvelope {
  readonly key: EnvelopeKey;
  /** Size of header and table, which come before the payload. */
  readonly headBytes: number;
}

/** Decompresses a stored block. */
export interface DecompressTask {
  readonly name: 'decompress';
  readonly codec: Codec;
  /** The payload, or the whole envelope. */
  readonly payload: Uint8Array;
  readonly envelope?: BlockEnvelope | undefined;
  readonly rawBytes: number;
  /** Shared memory for `rawBytes` bytes, used if the payload is compressed; by default new memory is allocated. */
  readonly target?: Uint8Array | undefined;
  /** Also computes the ids of the chunks. */
  readonly idInputs?: IdInputs;
}

/** The key and the chunk lengths, which are needed to compute the ids of the chunks in a block. */
export interface IdInputs {
  readonly key: ChunkIdKey;
  readonly chunkLengths: Uint32Array;
}

/** The raw bytes of a block. */
export interface DecompressedBlock {
  readonly raw: Uint8Array;
  /** The concatenated ids of the chunks, computed from the bytes; empty unless requested. */
  readonly chunkIds: Uint8Array;
}

/** Like `DecompressTask`, but returns only the ids of the chunks. */
interface VerifyTask {
  readonly name: 'verify';
  readonly codec: Codec;
  readonly payload: Uint8Array;
  readonly envelope?: BlockEnvelope | undefined;
  readonly rawBytes: number;
  readonly idInputs: IdInputs;
}

/** Computes the id of a chunk. */
interface HashTask {
  readonly name: 'hash';
  readonly bytes: Uint8Array;
  readonly key: ChunkIdKey;
}

/** Reads small files in sequence into one buffer of shared memory. */
export interface ReadTask {
  readonly name: 'read';
  readonly files: ListedFiles;
  /** The files are stored in sequence, with one extra byte after each. */
  readonly target: Uint8Array;
  readonly key: ChunkIdKey;
}

/** The results of a `ReadTask` for each file. */
export interface FilesRead {
  /** 1 if the target contains the complete file and the file has not changed since it was listed. */
  readonly isAsListed: Uint8Array;
  /** The ids of these files, each hashed as a single chunk, concatenated. */
  readonly chunkIds: Uint8Array;
  /** Undefined if none of the files has any. */
  readonly attributes: PackedAttributes | undefined;
}

/** Writes small files. Returns 1 for each file that is complete, and 0 for each that must be written again. */
export interface WriteTask {
  readonly name: 'write';
  readonly files: FilesToWrite;
  /** The concatenated contents. */
  readonly source: Uint8Array;
  readonly policy: TargetPolicy;
}

export type Task = CompressTask | SealTask | DecompressTask | VerifyTask | HashTask | ReadTask | WriteTask;

interface TaskResults {
  readonly compress: Uint8Array | undefined;
  readonly seal: SealedBlock;
  readonly decompress: DecompressedBlock;
  readonly verify: Uint8Array;
  readonly hash: Uint8Array;
  readonly read: FilesRead;
  readonly write: Uint8Array;
}

export type ResultOf<T extends Task> = TaskResults[T['name']];

/** What a thread is started with. */
export interface ThreadData {
  /** Shared memory, see `claim`. */
  readonly claims: Int32Array;
  /** Of the program that starts it. */
  readonly version: string;
}

export interface TaskMessage {
  readonly id: number;
  /** Slot in which the thread must claim the task first; undefined if the task cannot be stolen. */
  readonly slot: number | undefined;
  readonly task: Task;
}

/** Sent instead of a task: the thread ends once it has carried out all earlier tasks. */
export const END_MESSAGE = 'end';

/** The reply of a thread; it has neither a result nor a failure if the task was stolen. */
export interface TaskReply {
  readonly id: number;
  readonly result?: ResultOf<Task>;
  /** The class and text of an error, because the error object itself cannot be sent between threads. */
  readonly failure?: {
    readonly kind: 'corrupt' | 'installation' | 'expected' | 'fault';
    readonly message: string;
    readonly hint?: string;
  };
}

/** The buffers that the caller loses when a task is sent to a thread. */
export function transferredBy(task: Task): ArrayBuffer[] {
  return task.name === 'decompress' ? transferOf(task.payload) : [];
}

/**
 * The buffers to transfer without a copy, which the sender then loses. Shared memory stays accessible to both sides.
 */
export function transferOf(bytes: Uint8Array): ArrayBuffer[] {
  return bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
}

const UNCLAIMED = 0;
const CLAIMED = 1;

/** Claims a task; returns true only for the first of two threads. */
export function claim(claims: Int32Array, slot: number): boolean {
  return Atomics.compareExchange(claims, slot, UNCLAIMED, CLAIMED) === UNCLAIMED;
}

/** Must be called before a slot is used for another task. */
export function resetClaim(claims: Int32Array, slot: number): void {
  Atomics.store(claims, slot, UNCLAIMED);
}
