import { hash } from 'node:crypto';
import { chunkIdOf } from '../crypto/chunk-hasher.ts';
import { ENVELOPE_HEADER_BYTES, EnvelopeOpener, EnvelopeSealer, TAG_BYTES } from '../crypto/envelope.ts';
import { CorruptDataError, LdmError } from '../errors.ts';
import { encodeBlockHeader } from '../format/block.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { readFiles, writeFiles } from './file-tasks.ts';
import { ScratchBuffer } from './scratch-buffer.ts';
import type {
  BlockEnvelope,
  CompressTask,
  DecompressTask,
  DecompressedBlock,
  IdInputs,
  ResultOf,
  SealTask,
  SealedBlock,
  Task,
} from './task-messages.ts';
import { LARGE_BLOCK_BYTES, assertLength, openZstd, decompressZstd } from './zstd.ts';

/** A block is stored compressed if it shrinks by at least one part in this many. */
const SHRINK_DIVISOR = 32;

const scratch = new ScratchBuffer();
/** For compressed payloads that were decrypted. */
const payloadScratch = new ScratchBuffer();

/** Runs a task on the calling thread. */
export function perform<T extends Task>(task: T): ResultOf<T>;
export function perform(task: Task): ResultOf<Task> {
  switch (task.name) {
    case 'compress':
      return compressInPlace(task);
    case 'seal':
      return sealBlock(task);
    case 'decompress':
      return decompress(task);
    case 'verify':
      return decompress({ ...task, name: 'decompress', target: scratchFor(task.rawBytes) }).chunkIds;
    case 'hash':
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
function compressInPlace({ raw, level }: Omit<CompressTask, 'name'>): Uint8Array | undefined {
  const compressed = openZstd(raw.length).compress(raw, level);
  if (!shrinks(raw.length, compressed.length)) return undefined;
  if (!decompressesTo(raw, compressed)) {
    throw new LdmError('zstd produced a block that does not decompress to its input', {
      hint: 'The memory of this machine or the compressor is faulty. Nothing was stored; run the command again.',
    });
  }
  raw.set(compressed);
  return raw.subarray(0, compressed.length);
}

function decompressesTo(raw: Uint8Array, compressed: Uint8Array): boolean {
  try {
    // For a large block, saving as much memory again is worth the time for two digests.
    if (raw.length < LARGE_BLOCK_BYTES)
      return Buffer.compare(raw, decompressZstd(compressed, scratchFor(raw.length))) === 0;
    const digest = hash('sha1', raw);
    return hash('sha1', decompressZstd(compressed, raw)) === digest;
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

/** The nonce is new for each block, so one that is sealed twice has another name. */
function sealBlock({ raw, level, key, kind, chunkLengths }: SealTask): SealedBlock {
  const compressed = level === undefined ? undefined : compressInPlace({ raw, level });
  const codec = compressed === undefined ? 'raw' : 'zstd';
  const payload = compressed ?? raw;
  const table = encodeBlockHeader({ kind, codec, rawBytes: raw.length, storedBytes: payload.length, chunkLengths });
  const sealer = new EnvelopeSealer(key, table.length + payload.length);
  sealer.encrypt(table, table);
  sealer.encrypt(payload, payload);
  return { codec, head: Buffer.concat([sealer.header, table]), payload, tag: sealer.tag() };
}

/** Decrypts the payload of a sealed block to `target`, by default to where it is. */
function openPayload(bytes: Uint8Array, { key, headBytes }: BlockEnvelope, target?: Uint8Array): Uint8Array {
  const opener = new EnvelopeOpener(key, bytes);
  opener.decrypt(Buffer.alloc(headBytes));
  const payload = target ?? bytes.subarray(ENVELOPE_HEADER_BYTES + headBytes, bytes.length - TAG_BYTES);
  opener.decrypt(payload);
  opener.verify();
  return payload;
}

function decompress(task: DecompressTask): DecompressedBlock {
  const { codec, rawBytes, target, idInputs } = task;
  const payload = payloadOf(task);
  const raw = codec === 'raw' ? payload : decompressZstd(payload, target ?? Buffer.allocUnsafeSlow(rawBytes));
  assertLength(raw.length, rawBytes);
  return { raw, chunkIds: idInputs === undefined ? new Uint8Array() : chunkIdsOf(raw, idInputs) };
}

function payloadOf({ codec, payload, envelope, target }: DecompressTask): Uint8Array {
  if (envelope === undefined) return payload;
  if (codec === 'raw') return openPayload(payload, envelope, target);
  const payloadBytes = payload.length - ENVELOPE_HEADER_BYTES - envelope.headBytes - TAG_BYTES;
  return openPayload(payload, envelope, payloadScratch.atLeast(payloadBytes).subarray(0, payloadBytes));
}

function chunkIdsOf(raw: Uint8Array, { key, chunkLengths }: IdInputs): Uint8Array {
  const chunkIds = new Uint8Array(chunkLengths.length * CHUNK_ID_BYTES);
  let offset = 0;
  for (const [index, lengthBytes] of chunkLengths.entries()) {
    chunkIds.set(chunkIdOf(key, raw.subarray(offset, offset + lengthBytes)), index * CHUNK_ID_BYTES);
    offset += lengthBytes;
  }
  return chunkIds;
}
