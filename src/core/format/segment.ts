import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from './chunk-kind.ts';
import {
  FILE_ID_BYTES,
  NONCE_BYTES,
  SEALED_SEGMENT_VERSION,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_PACK_BYTES,
  SEGMENT_VERSION,
} from './constants.ts';
import { decodePackFooter, encodePackFooter } from './pack.ts';
import type { PackContents } from './pack.ts';

/**
 * Encodes a segment, which is named by the SHA-256 of its bytes. `nonce`: 16 random bytes, so that no name is reused.
 */
export function encodeSegment(packs: readonly PackContents[], nonce: Uint8Array): Buffer {
  assert(nonce.length === NONCE_BYTES);
  const isSealed = packs[0]?.isSealed === true;
  const footers = packs.map((pack) => encodePackFooter(pack.blocks));
  const footerBytes = footers.reduce((sum, footer) => sum + footer.length, 0);
  const writer = new ByteWriter(SEGMENT_HEADER_BYTES + packs.length * SEGMENT_PACK_BYTES + footerBytes);
  writer.latin1(SEGMENT_MAGIC);
  writer.u32(isSealed ? SEALED_SEGMENT_VERSION : SEGMENT_VERSION);
  writer.u32(packs.length);
  writer.bytes(nonce);
  for (const [i, pack] of packs.entries()) {
    assert(pack.isSealed === isSealed, 'either all packs are sealed or none');
    assert(/^[0-9a-f]{64}$/.test(pack.id), 'a pack is named by 64 hex digits');
    writer.bytes(Buffer.from(pack.id, 'hex'));
    writer.u64(pack.sizeBytes);
    writer.u8(codeOfChunkKind(pack.kind));
    writer.skip(3);
    writer.u32(footers[i]!.length);
    writer.bytes(footers[i]!);
  }
  return writer.finish();
}

/**
 * Decodes all packs of a segment. The ids in the result are views of `bytes`.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodeSegment(bytes: Uint8Array, what = 'segment'): PackContents[] {
  const packs: PackContents[] = [];
  forEachPack(bytes, (pack) => packs.push(pack), what);
  return packs;
}

/**
 * Visits the packs of a segment one by one, for segments that are too large to hold decoded. If it throws, the packs
 * before the damaged one have already been visited.
 * @throws as `decodeSegment`
 */
export function forEachPack(bytes: Uint8Array, visit: (pack: PackContents) => void, what = 'segment'): void {
  const reader = new ByteReader(bytes, what);
  reader.magic(SEGMENT_MAGIC);
  const version = reader.u32();
  if (version < 1 || version > SEALED_SEGMENT_VERSION) {
    throw new UnsupportedFormatError(`${what}: segment version ${version} is not supported`);
  }
  const isSealed = version === SEALED_SEGMENT_VERSION;
  const packCount = reader.u32();
  if (version !== 1) reader.view(NONCE_BYTES);
  for (let i = 0; i < packCount; i++) {
    const id = reader.hex(FILE_ID_BYTES);
    const sizeBytes = reader.u64();
    const kind = chunkKindOfCode(reader.u8(), what);
    reader.zeros(3);
    const footer = reader.view(reader.u32());
    visit(decodePackFooter(footer, { id, kind, sizeBytes, isSealed }, `${what}: pack ${id}`));
  }
  reader.end();
}
