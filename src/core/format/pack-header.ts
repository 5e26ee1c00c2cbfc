import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from './chunk-kind.ts';
import type { ChunkKind } from './chunk-kind.ts';
import {
  NONCE_BYTES,
  PACK_HEADER_BYTES,
  PACK_HEADER_BYTES_V1,
  PACK_MAGIC,
  PACK_VERSION,
  SEALED_PACK_VERSION,
} from './constants.ts';
import type { PackedBlock } from './packed-block.ts';

interface PackHeader {
  /** Undefined in a sealed pack: the footer and the blocks have it. */
  readonly kind: ChunkKind | undefined;
  readonly headerBytes: number;
}

/**
 * Encodes the header of a pack. `kind`: undefined for a sealed pack. `nonce`: 16 random bytes, so that two packs with the same chunks never share a name.
 */
export function encodePackHeader(kind: PackHeader['kind'], nonce: Uint8Array): Buffer {
  assert(nonce.length === NONCE_BYTES);
  const writer = new ByteWriter(PACK_HEADER_BYTES);
  writer.latin1(PACK_MAGIC);
  writer.u32(kind === undefined ? SEALED_PACK_VERSION : PACK_VERSION);
  writer.u8(kind === undefined ? 0 : codeOfChunkKind(kind));
  writer.skip(3);
  writer.bytes(nonce);
  return writer.finish();
}

/**
 * Decodes the header of a pack from its first 32 bytes; version 1 uses only 16 of them.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodePackHeader(bytes: Uint8Array, what = 'pack'): PackHeader {
  const reader = new ByteReader(bytes, what);
  reader.magic(PACK_MAGIC);
  const version = reader.u32();
  if (version < 1 || version > SEALED_PACK_VERSION) {
    throw new UnsupportedFormatError(`${what}: pack version ${version} is not supported`);
  }
  const isSealed = version === SEALED_PACK_VERSION;
  if (isSealed) reader.zeros(1);
  const kind = isSealed ? undefined : chunkKindOfCode(reader.u8(), what);
  reader.zeros(3);
  if (version === 1) return { kind, headerBytes: PACK_HEADER_BYTES_V1 };
  reader.view(NONCE_BYTES);
  return { kind, headerBytes: PACK_HEADER_BYTES };
}

/** Size of the header of a pack, which equals the offset of its first block. */
export function headerBytesOf(blocks: readonly Pick<PackedBlock, 'offset'>[]): number {
  return blocks[0]?.offset === PACK_HEADER_BYTES_V1 ? PACK_HEADER_BYTES_V1 : PACK_HEADER_BYTES;
}
