import assert from 'node:assert/strict';
import { blockBytes, borrowedPayloadBytes, decodeBlockHeader, encodeBlockHeader } from './block.ts';
import type { BlockHeader } from './block.ts';
import { ByteReader, checksumOf } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { CHUNK_ID_BYTES, FILE_ID_BYTES } from './constants.ts';

/** Chunks whose bytes another domain of the realm keeps for this repository. */
export interface BorrowedChunks {
  /** The repository id of that domain: 64 hex digits. */
  readonly domainId: string;
  /** The hold with which it keeps them: 64 hex digits. */
  readonly holdId: string;
  /** 20 bytes per chunk. */
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

/** Only contents of files are borrowed: every directory can be read without other domains. */
const KIND = 'data';

/** Encodes a whole block: header, table, and the two ids, the ids of the chunks and a CRC-32 as the payload. */
export function encodeBorrowedBlock({ domainId, holdId, chunkIds, chunkLengths }: BorrowedChunks): Buffer {
  const { length } = chunkLengths;
  assert(chunkIds.length === length * CHUNK_ID_BYTES);
  const storedBytes = borrowedPayloadBytes(length);
  const rawBytes = chunkLengths.reduce((sum, each) => sum + each, 0);
  const header = encodeBlockHeader({ kind: KIND, codec: 'borrowed', rawBytes, storedBytes, chunkLengths });
  const writer = new ByteWriter(storedBytes);
  writer.bytes(Buffer.from(domainId, 'hex'));
  writer.bytes(Buffer.from(holdId, 'hex'));
  writer.bytes(chunkIds);
  writer.u32(checksumOf(writer.buffer.subarray(0, writer.offset)));
  return Buffer.concat([header, writer.finish()]);
}

/**
 * Decodes a whole block of borrowed chunks; ignores any bytes after it.
 * @throws CorruptDataError
 */
export function decodeBorrowedBlock(
  bytes: Uint8Array,
  what = 'block',
): BorrowedChunks & { readonly header: BlockHeader } {
  const header = decodeBlockHeader(bytes, what);
  const { codec, kind, chunkLengths, storedBytes } = header;
  const endOffset = blockBytes(chunkLengths.length, storedBytes);
  const reader = new ByteReader(bytes.subarray(0, endOffset), what, endOffset - storedBytes);
  if (codec !== 'borrowed' || kind !== KIND) reader.fail('it is no block of borrowed chunks');
  const payload = bytes.subarray(endOffset - storedBytes, endOffset - 4);
  const domainId = Buffer.from(reader.bytes(FILE_ID_BYTES)).toString('hex');
  const holdId = Buffer.from(reader.bytes(FILE_ID_BYTES)).toString('hex');
  const chunkIds = Uint8Array.from(reader.view(chunkLengths.length * CHUNK_ID_BYTES));
  if (reader.u32() !== checksumOf(payload)) reader.fail('the ids of its chunks have a wrong checksum');
  return { header, domainId, holdId, chunkIds, chunkLengths };
}
