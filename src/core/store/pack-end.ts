import assert from 'node:assert/strict';
import type { Backend } from '../backend/backend.ts';
import { ENVELOPE_BYTES } from '../crypto/envelope.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError } from '../errors.ts';
import { bufferOver, ByteReader } from '../format/byte-reader.ts';
import { ByteWriter } from '../format/byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from '../format/chunk-kind.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import {
  PACK_HEADER_BYTES,
  PACK_TRAILER_BYTES,
  SEALED_FOOTER_BYTES,
  SEALED_FOOTER_KIND_BYTES,
  SEALED_PACK_END_MAGIC,
  SEALED_PACK_TRAILER_BYTES,
  SEAL_BYTES,
} from '../format/constants.ts';
import { decodePackHeader, headerBytesOf } from '../format/pack-header.ts';
import { decodePackTrailer, encodePackFooter } from '../format/pack.ts';
import type { PackContents } from '../format/pack.ts';

assert(SEAL_BYTES === ENVELOPE_BYTES);

/** Where the files of a repository are, and how they are sealed. */
export interface FilePlace {
  readonly backend: Backend;
  readonly seals: Seals;
}

/** The end of a pack: its footer and trailer, and its kind if the header does not have it. */
interface PackEnd {
  readonly kind: ChunkKind | undefined;
  /** Footer and trailer, which `decodePackFooter` takes. */
  readonly footer: Uint8Array;
}

/** Encodes what comes after the last block. */
export function encodePackEnd({ kind, blocks }: Pick<PackContents, 'kind' | 'blocks'>, seals: Seals): Buffer {
  const footer = encodePackFooter(blocks);
  if (seals.keys === undefined) return footer;
  const plain = Buffer.alloc(SEALED_FOOTER_KIND_BYTES + footer.length);
  plain[0] = codeOfChunkKind(kind);
  plain.set(footer, SEALED_FOOTER_KIND_BYTES);
  const envelope = seals.seal('footers', plain);
  const trailer = new ByteWriter(SEALED_PACK_TRAILER_BYTES);
  trailer.u32(envelope.length);
  trailer.skip(4);
  trailer.latin1(SEALED_PACK_END_MAGIC);
  return Buffer.concat([envelope, trailer.finish()]);
}

/** Number of last bytes of a pack that are needed to locate its end. */
export function trailerBytesOf(seals: Seals): number {
  return seals.keys === undefined ? PACK_TRAILER_BYTES : SEALED_PACK_TRAILER_BYTES;
}

/** Returns the size of the end of a pack, of which the contents are known. */
export function endBytesOf({ blocks }: Pick<PackContents, 'blocks'>, seals: Seals): number {
  return encodePackFooter(blocks).length + (seals.keys === undefined ? 0 : SEALED_FOOTER_BYTES);
}

/**
 * Returns the size of the end of a pack. `last`: the last bytes of the pack.
 * @throws CorruptDataError
 */
export function locatePackEnd(last: Uint8Array, packBytes: number, seals: Seals): number {
  if (seals.keys === undefined) {
    return packBytes - decodePackTrailer(last.subarray(-PACK_TRAILER_BYTES), packBytes).footerOffset;
  }
  const endBytes = readSealedTrailer(last) + SEALED_PACK_TRAILER_BYTES;
  if (endBytes > packBytes - PACK_HEADER_BYTES) {
    throw new CorruptDataError(`pack trailer: ${endBytes} bytes do not fit into a pack of ${packBytes} bytes`);
  }
  return endBytes;
}

/**
 * Opens the end of a pack. A plain footer is a view of `bytes`.
 * @throws CorruptDataError
 */
export function openPackEnd(bytes: Uint8Array, seals: Seals): PackEnd {
  if (seals.keys === undefined) return { kind: undefined, footer: bytes };
  const envelopeBytes = bytes.length - SEALED_PACK_TRAILER_BYTES;
  if (readSealedTrailer(bytes) !== envelopeBytes) throw new CorruptDataError('pack trailer: it has another size');
  const reader = new ByteReader(seals.open('footers', bytes.subarray(0, envelopeBytes)), 'pack footer');
  const kind = chunkKindOfCode(reader.u8(), 'pack footer');
  reader.zeros(SEALED_FOOTER_KIND_BYTES - 1);
  return { kind, footer: reader.view(envelopeBytes - ENVELOPE_BYTES - SEALED_FOOTER_KIND_BYTES) };
}

/** Returns the size of the envelope before the trailer. */
function readSealedTrailer(last: Uint8Array): number {
  const reader = new ByteReader(bufferOver(last.subarray(-SEALED_PACK_TRAILER_BYTES)), 'pack trailer');
  const envelopeBytes = reader.u32();
  reader.zeros(4);
  reader.magic(SEALED_PACK_END_MAGIC);
  return envelopeBytes;
}

/** Returns whether these are the last bytes of the pack. Two ends of the same sealed pack differ in the nonce. */
export function isEndOf(bytes: Buffer, pack: PackContents, seals: Seals): boolean {
  try {
    const { kind = pack.kind, footer } = openPackEnd(bytes, seals);
    return kind === pack.kind && Buffer.compare(footer, encodePackFooter(pack.blocks)) === 0;
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return false;
  }
}

/** Returns whether these bytes begin like the pack. */
export function isHeaderOf(bytes: Buffer, pack: PackContents): boolean {
  try {
    const { kind, headerBytes } = decodePackHeader(bytes);
    return kind === (pack.isSealed ? undefined : pack.kind) && headerBytes === headerBytesOf(pack.blocks);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return false;
  }
}
