import assert from 'node:assert/strict';
import { UnsupportedFormatError } from '../errors.ts';
import { blockBytes, codecOfCode, codeOfCodec, findLengthProblem, findSizeProblem } from './block.ts';
import type { Codec } from './block.ts';
import { ByteReader, checksumOf } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { chunkKindOfCode, codeOfChunkKind } from './chunk-kind.ts';
import type { ChunkKind } from './chunk-kind.ts';
import {
  CHUNK_ID_BYTES,
  MAX_PACK_BYTES,
  PACK_END_MAGIC,
  PACK_FOOTER_BLOCK_BYTES,
  PACK_FOOTER_CHUNK_BYTES,
  NONCE_BYTES,
  PACK_HEADER_BYTES,
  PACK_HEADER_BYTES_V1,
  PACK_MAGIC,
  PACK_TRAILER_BYTES,
  PACK_TRAILER_CHECKSUM_OFFSET,
  PACK_VERSION,
} from './constants.ts';

export { PACK_HEADER_BYTES, PACK_TRAILER_BYTES } from './constants.ts';

/** A block in a pack, and its chunks. */
export interface PackedBlock {
  /** Offset of its header in the pack. */
  readonly offset: number;
  readonly codec: Codec;
  readonly rawBytes: number;
  /** Size of the payload only. */
  readonly storedBytes: number;
  /** 20 bytes per chunk. */
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

export interface PackContents {
  /** Hex digest of the file, 32 bytes; docs/format.md specifies the hash. */
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  readonly blocks: readonly PackedBlock[];
}

interface Trailer {
  readonly blockCount: number;
  readonly chunkCount: number;
  readonly footerBytes: number;
}

/**
 * Encodes the header of a pack. `nonce`: 16 random bytes, so that two packs with the same chunks never share a name.
 */
export function encodePackHeader(kind: ChunkKind, nonce: Uint8Array): Buffer {
  assert(nonce.length === NONCE_BYTES);
  const writer = new ByteWriter(PACK_HEADER_BYTES);
  writer.latin1(PACK_MAGIC);
  writer.u32(PACK_VERSION);
  writer.u8(codeOfChunkKind(kind));
  writer.skip(3);
  writer.bytes(nonce);
  return writer.finish();
}

/**
 * Decodes the header of a pack from its first 32 bytes; version 1 uses only 16 of them.
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function decodePackHeader(bytes: Uint8Array, what = 'pack'): { kind: ChunkKind; headerBytes: number } {
  const reader = new ByteReader(bytes, what);
  reader.magic(PACK_MAGIC);
  const version = reader.u32();
  if (version !== 1 && version !== PACK_VERSION) {
    throw new UnsupportedFormatError(`${what}: pack version ${version} is not supported`);
  }
  const kind = chunkKindOfCode(reader.u8(), what);
  reader.zeros(3);
  if (version === 1) return { kind, headerBytes: PACK_HEADER_BYTES_V1 };
  reader.view(NONCE_BYTES);
  return { kind, headerBytes: PACK_HEADER_BYTES };
}

/** Size of the header of a pack, which equals the offset of its first block. */
export function headerBytesOf(blocks: readonly Pick<PackedBlock, 'offset'>[]): number {
  return blocks[0]?.offset === PACK_HEADER_BYTES_V1 ? PACK_HEADER_BYTES_V1 : PACK_HEADER_BYTES;
}

/** Encodes the list of blocks and chunks of a pack, and the trailer that locates it. */
export function encodePackFooter(blocks: readonly PackedBlock[]): Buffer {
  const chunkCount = blocks.reduce((sum, block) => sum + block.chunkLengths.length, 0);
  const footerBytes = blocks.length * PACK_FOOTER_BLOCK_BYTES + chunkCount * PACK_FOOTER_CHUNK_BYTES;
  const writer = new ByteWriter(footerBytes + PACK_TRAILER_BYTES);
  let offset = headerBytesOf(blocks);
  for (const block of blocks) {
    assert(block.offset === offset, 'blocks follow one another');
    const problem = findSizeProblem(block) ?? findLengthProblem(block.chunkLengths, block.rawBytes);
    assert(problem === undefined, problem);
    writeBlock(writer, block);
    offset += blockBytes(block.chunkLengths.length, block.storedBytes);
  }
  assert(offset + writer.buffer.length <= MAX_PACK_BYTES, 'a pack is below 4 GiB');
  writer.u32(blocks.length);
  writer.u32(chunkCount);
  writer.u32(footerBytes);
  writer.u32(checksumOf(writer.buffer.subarray(0, writer.offset)));
  writer.latin1(PACK_END_MAGIC);
  return writer.finish();
}

function writeBlock(writer: ByteWriter, block: PackedBlock): void {
  assert(block.chunkIds.length === block.chunkLengths.length * CHUNK_ID_BYTES);
  writer.u32(block.offset);
  writer.u32(block.storedBytes);
  writer.u32(block.rawBytes);
  writer.u32(block.chunkLengths.length);
  writer.u8(codeOfCodec(block.codec));
  writer.skip(3);
  writer.bytes(block.chunkIds);
  for (const length of block.chunkLengths) writer.u32(length);
}

/**
 * Decodes the last 24 bytes of a pack, to locate its footer.
 * @throws CorruptDataError
 */
export function decodePackTrailer(
  bytes: Uint8Array,
  packSizeBytes: number,
  what = 'pack trailer',
): { footerBytes: number; footerOffset: number } {
  const reader = new ByteReader(bytes, what);
  const { footerBytes } = readTrailer(reader);
  reader.end();
  const footerOffset = packSizeBytes - PACK_TRAILER_BYTES - footerBytes;
  if (footerOffset < PACK_HEADER_BYTES_V1) {
    reader.fail(`a footer of ${footerBytes} bytes does not fit into a pack of ${packSizeBytes} bytes`);
  }
  return { footerBytes, footerOffset };
}

function readTrailer(reader: ByteReader): Trailer {
  const blockCount = reader.u32();
  const chunkCount = reader.u32();
  const footerBytes = reader.u32();
  reader.u32();
  reader.magic(PACK_END_MAGIC);
  const expected = blockCount * PACK_FOOTER_BLOCK_BYTES + chunkCount * PACK_FOOTER_CHUNK_BYTES;
  if (footerBytes !== expected) {
    reader.fail(
      `${blockCount} blocks with ${chunkCount} chunks need a footer of ${expected} bytes, not ${footerBytes}`,
    );
  }
  return { blockCount, chunkCount, footerBytes };
}

/**
 * Decodes footer and trailer. The ids in the result are views of `bytes`.
 * @throws CorruptDataError also if the blocks do not exactly fill the space between header and footer
 */
export function decodePackFooter(
  bytes: Uint8Array,
  pack: { readonly id: string; readonly kind: ChunkKind; readonly sizeBytes: number },
  what = 'pack footer',
): PackContents {
  const { id, kind, sizeBytes } = pack;
  const reader = new ByteReader(bytes, what);
  if (bytes.length < PACK_TRAILER_BYTES) reader.fail(`${bytes.length} bytes are too few for a trailer`);
  const trailerOffset = bytes.length - PACK_TRAILER_BYTES;
  const trailer = readTrailer(new ByteReader(bytes, what, trailerOffset));
  if (trailer.footerBytes !== trailerOffset) {
    reader.fail(`${trailerOffset} bytes long, but the trailer says ${trailer.footerBytes}`);
  }
  const checksumOffset = trailerOffset + PACK_TRAILER_CHECKSUM_OFFSET;
  const checksum = new ByteReader(bytes, what, checksumOffset).u32();
  if (checksum !== checksumOf(bytes.subarray(0, checksumOffset))) reader.fail('wrong checksum');
  return { id, kind, sizeBytes, blocks: readBlocks(reader, trailer, { endOffset: sizeBytes - bytes.length, what }) };
}

function readBlocks(
  reader: ByteReader,
  trailer: Trailer,
  options: { readonly endOffset: number; readonly what: string },
): PackedBlock[] {
  const blocks: PackedBlock[] = [];
  const isEmptyV1 = trailer.blockCount === 0 && options.endOffset === PACK_HEADER_BYTES_V1;
  let offset = isEmptyV1 ? PACK_HEADER_BYTES_V1 : PACK_HEADER_BYTES;
  let chunkCount = 0;
  for (let i = 0; i < trailer.blockCount; i++) {
    const block = readBlock(reader, options.what);
    if (i === 0) offset = headerBytesOf([block]);
    if (block.offset !== offset) reader.fail(`block ${i} begins at byte ${block.offset} instead of ${offset}`);
    offset += blockBytes(block.chunkLengths.length, block.storedBytes);
    chunkCount += block.chunkLengths.length;
    blocks.push(block);
  }
  if (chunkCount !== trailer.chunkCount) reader.fail(`lists ${chunkCount} chunks instead of ${trailer.chunkCount}`);
  if (offset !== options.endOffset) {
    reader.fail(`the blocks end at byte ${offset} of the pack, but the footer begins at ${options.endOffset}`);
  }
  return blocks;
}

function readBlock(reader: ByteReader, what: string): PackedBlock {
  const offset = reader.u32();
  const storedBytes = reader.u32();
  const rawBytes = reader.u32();
  const chunkCount = reader.u32();
  const codec = codecOfCode(reader.u8(), what);
  reader.zeros(3);
  const problem = findSizeProblem({ codec, rawBytes, storedBytes, chunkLengths: { length: chunkCount } });
  if (problem !== undefined) reader.fail(problem);
  const chunkIds = reader.view(chunkCount * CHUNK_ID_BYTES);
  const chunkLengths = reader.u32Array(chunkCount);
  const lengthProblem = findLengthProblem(chunkLengths, rawBytes);
  if (lengthProblem !== undefined) reader.fail(lengthProblem);
  return { offset, codec, rawBytes, storedBytes, chunkIds, chunkLengths };
}

/**
 * Size of the part of the complete block (header, table and payload) that represents its first `endBytes` raw bytes.
 * The differences of these shares add up to the block exactly, despite rounding.
 */
export function shareOfBlock(block: PackedBlock, endBytes: number): number {
  return Math.floor((endBytes / block.rawBytes) * blockBytes(block.chunkLengths.length, block.storedBytes));
}

/**
 * Visits the chunks of a block in order; `idOffset` is an offset in `chunkIds`, and the `storedBytes` add up to the
 * block.
 */
export function forEachChunk(
  block: PackedBlock,
  visit: (idOffset: number, offsetInBlock: number, lengthBytes: number, storedBytes: number) => void,
): void {
  const { chunkLengths } = block;
  let offset = 0;
  let share = 0;
  for (let i = 0; i < chunkLengths.length; i++) {
    const length = chunkLengths[i]!;
    const nextShare = shareOfBlock(block, offset + length);
    visit(i * CHUNK_ID_BYTES, offset, length, nextShare - share);
    offset += length;
    share = nextShare;
  }
}
