import assert from 'node:assert/strict';
import { CorruptDataError } from '../errors.ts';
import { ByteReader, checksumOf } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from './chunk-kind.ts';
import type { ChunkKind } from './chunk-kind.ts';
import {
  BLOCK_CHECKSUM_OFFSET,
  BLOCK_HEADER_BYTES,
  BLOCK_MAGIC,
  BLOCK_TABLE_ENTRY_BYTES,
  CHUNK_ID_BYTES,
  FILE_ID_BYTES,
  MAX_BLOCK_CHUNKS,
  MAX_BLOCK_RAW_BYTES,
  MAX_BLOCK_STORED_BYTES,
} from './constants.ts';

export { BLOCK_HEADER_BYTES } from './constants.ts';

/**
 * Encoding of a block's payload. A `borrowed` block has no bytes of chunks: it says which domain of the realm keeps them
 * (src/core/format/borrowed-block.ts).
 */
export type Codec = 'raw' | 'zstd' | 'borrowed';

export interface BlockHeader {
  readonly kind: ChunkKind;
  readonly codec: Codec;
  /** Total size of the chunks before compression. */
  readonly rawBytes: number;
  /** Size of the payload in the file. */
  readonly storedBytes: number;
  readonly chunkLengths: Uint32Array;
}

/** The contents of the first 24 bytes of a block. */
interface BlockPrefix {
  readonly kind: ChunkKind;
  readonly codec: Codec;
  readonly chunkCount: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
}

const CODECS: readonly Codec[] = ['raw', 'zstd', 'borrowed'];

export function codeOfCodec(codec: Codec): number {
  return CODECS.indexOf(codec);
}

/** @throws CorruptDataError if the code is unknown */
export function codecOfCode(code: number, what: string): Codec {
  const codec = CODECS[code];
  if (codec !== undefined) return codec;
  throw new CorruptDataError(
    `${what}: codec ${code} is none of ${CODECS.map((name, at) => `${at} (${name})`).join(', ')}`,
  );
}

/** Size of the payload of a block of borrowed chunks: two ids of 32 bytes, the ids of the chunks, a checksum. */
export function borrowedPayloadBytes(chunkCount: number): number {
  return 2 * FILE_ID_BYTES + chunkCount * CHUNK_ID_BYTES + 4;
}

/** Size of a complete block in a pack: header, table and payload. */
export function blockBytes(chunkCount: number, storedBytes: number): number {
  return BLOCK_HEADER_BYTES + chunkCount * BLOCK_TABLE_ENTRY_BYTES + storedBytes;
}

/** Encodes the header and table of a block; its payload of `storedBytes` follows in the file. */
export function encodeBlockHeader(header: BlockHeader): Buffer {
  const problem = findSizeProblem(header) ?? findLengthProblem(header.chunkLengths, header.rawBytes);
  assert(problem === undefined, problem);
  const writer = new ByteWriter(blockBytes(header.chunkLengths.length, 0));
  writer.u32(BLOCK_MAGIC);
  writer.u8(codeOfCodec(header.codec));
  writer.u8(codeOfChunkKind(header.kind));
  writer.u16(0);
  writer.u32(header.chunkLengths.length);
  writer.u32(header.rawBytes);
  writer.u32(header.storedBytes);
  writer.skip(4);
  for (const length of header.chunkLengths) writer.u32(length);
  const bytes = writer.finish();
  bytes.writeUInt32LE(checksumOfHeader(bytes), BLOCK_CHECKSUM_OFFSET);
  return bytes;
}

/**
 * Decodes the first 24 bytes of a block, to learn the size of the rest. They are not verified yet: only the limits are
 * checked, so that no caller allocates memory based on a damaged number.
 * @throws CorruptDataError if a limit is exceeded
 */
export function decodeBlockPrefix(bytes: Uint8Array, what = 'block'): BlockPrefix {
  const reader = new ByteReader(bytes, what);
  const magic = reader.u32();
  if (magic !== BLOCK_MAGIC)
    reader.fail(`begins with 0x${magic.toString(16)} instead of 0x${BLOCK_MAGIC.toString(16)}`);
  const codec = codecOfCode(reader.u8(), what);
  const kind = chunkKindOfCode(reader.u8(), what);
  reader.zeros(2);
  const chunkCount = reader.u32();
  const rawBytes = reader.u32();
  const storedBytes = reader.u32();
  reader.u32();
  const prefix = { kind, codec, chunkCount, rawBytes, storedBytes };
  const problem = findSizeProblem({ ...prefix, chunkLengths: { length: chunkCount } });
  if (problem !== undefined) reader.fail(problem);
  return prefix;
}

/**
 * Decodes and verifies header and table; ignores any bytes after them.
 * @throws CorruptDataError
 */
export function decodeBlockHeader(bytes: Uint8Array, what = 'block'): BlockHeader {
  const { kind, codec, chunkCount, rawBytes, storedBytes } = decodeBlockPrefix(bytes, what);
  const reader = new ByteReader(bytes, what, BLOCK_CHECKSUM_OFFSET);
  const checksum = reader.u32();
  const chunkLengths = reader.u32Array(chunkCount);
  if (checksum !== checksumOfHeader(bytes.subarray(0, reader.offset))) reader.fail('the header has a wrong checksum');
  const problem = findLengthProblem(chunkLengths, rawBytes);
  if (problem !== undefined) reader.fail(problem);
  return { kind, codec, rawBytes, storedBytes, chunkLengths };
}

/** Describes the first invalid number of a block, if any. */
export function findSizeProblem(block: {
  readonly codec: Codec;
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly chunkLengths: { readonly length: number };
}): string | undefined {
  const { codec, rawBytes, storedBytes } = block;
  const chunkCount = block.chunkLengths.length;
  if (rawBytes > MAX_BLOCK_RAW_BYTES) return `${rawBytes} raw bytes are more than a block may hold`;
  if (storedBytes < 1 || storedBytes > MAX_BLOCK_STORED_BYTES) return `a block cannot have ${storedBytes} stored bytes`;
  if (chunkCount < 1 || chunkCount > MAX_BLOCK_CHUNKS) return `a block cannot have ${chunkCount} chunks`;
  if (chunkCount > rawBytes) return `${rawBytes} raw bytes are too few for ${chunkCount} chunks`;
  if (codec === 'raw' && storedBytes !== rawBytes)
    return `${rawBytes} raw bytes are stored as ${storedBytes} without a codec`;
  if (codec === 'borrowed' && storedBytes !== borrowedPayloadBytes(chunkCount))
    return `${chunkCount} borrowed chunks cannot have ${storedBytes} stored bytes`;
  return undefined;
}

/** Describes the first problem with the lengths of the chunks in a block, if any. */
export function findLengthProblem(chunkLengths: Uint32Array, rawBytes: number): string | undefined {
  let sum = 0;
  for (let i = 0; i < chunkLengths.length; i++) {
    const length = chunkLengths[i]!;
    if (length === 0) return `chunk ${i} is empty`;
    sum += length;
  }
  return sum === rawBytes ? undefined : `the chunks add up to ${sum} bytes instead of ${rawBytes}`;
}

function checksumOfHeader(headerAndTable: Uint8Array): number {
  return checksumOf(headerAndTable.subarray(0, BLOCK_CHECKSUM_OFFSET), headerAndTable.subarray(BLOCK_HEADER_BYTES));
}
