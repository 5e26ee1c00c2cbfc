import assert from 'node:assert/strict';
import { blockBytes, codecOfCode, codeOfCodec, findLengthProblem, findSizeProblem } from './block.ts';
import { ByteReader, checksumOf } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { ChunkKind } from './chunk-kind.ts';
import {
  CHUNK_ID_BYTES,
  MAX_PACK_BYTES,
  PACK_END_MAGIC,
  PACK_FOOTER_BLOCK_BYTES,
  PACK_FOOTER_CHUNK_BYTES,
  PACK_HEADER_BYTES,
  PACK_HEADER_BYTES_V1,
  PACK_TRAILER_BYTES,
  PACK_TRAILER_CHECKSUM_OFFSET,
  SEALED_FOOTER_BYTES,
  SEAL_BYTES,
} from './constants.ts';
import { headerBytesOf } from './pack-header.ts';
import type { PackedBlock } from './packed-block.ts';

export { PACK_HEADER_BYTES, PACK_TRAILER_BYTES } from './constants.ts';

export interface PackContents {
  /** Hex digest of the file, 32 bytes; docs/format.md specifies the hash. */
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  /** Whether its blocks and its footer are encrypted. */
  readonly isSealed: boolean;
  readonly blocks: readonly PackedBlock[];
}

interface Trailer {
  readonly blockCount: number;
  readonly chunkCount: number;
  readonly footerBytes: number;
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
    offset += block.sizeBytes;
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
  pack: Omit<PackContents, 'blocks'>,
  what = 'pack footer',
): PackContents {
  const { sizeBytes, isSealed } = pack;
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
  const endOffset = sizeBytes - bytes.length - (isSealed ? SEALED_FOOTER_BYTES : 0);
  return { ...pack, blocks: readBlocks(reader, trailer, { endOffset, isSealed, what }) };
}

function readBlocks(
  reader: ByteReader,
  trailer: Trailer,
  options: { readonly endOffset: number; readonly isSealed: boolean; readonly what: string },
): PackedBlock[] {
  const blocks: PackedBlock[] = [];
  const isEmptyV1 = trailer.blockCount === 0 && options.endOffset === PACK_HEADER_BYTES_V1;
  let offset = isEmptyV1 ? PACK_HEADER_BYTES_V1 : PACK_HEADER_BYTES;
  let chunkCount = 0;
  for (let i = 0; i < trailer.blockCount; i++) {
    const block = readBlock(reader, options);
    if (i === 0) offset = headerBytesOf([block]);
    if (block.offset !== offset) reader.fail(`block ${i} begins at byte ${block.offset} instead of ${offset}`);
    offset += block.sizeBytes;
    chunkCount += block.chunkLengths.length;
    blocks.push(block);
  }
  if (blocks.some(({ codec }) => (codec === 'borrowed') !== (blocks[0]!.codec === 'borrowed')))
    reader.fail('only some of its blocks have borrowed chunks');
  if (chunkCount !== trailer.chunkCount) reader.fail(`lists ${chunkCount} chunks instead of ${trailer.chunkCount}`);
  if (offset !== options.endOffset) {
    reader.fail(`the blocks end at byte ${offset} of the pack, but the footer begins at ${options.endOffset}`);
  }
  return blocks;
}

function readBlock(
  reader: ByteReader,
  { isSealed, what }: { readonly isSealed: boolean; readonly what: string },
): PackedBlock {
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
  const sizeBytes = blockBytes(chunkCount, storedBytes) + (isSealed ? SEAL_BYTES : 0);
  return { offset, sizeBytes, codec, rawBytes, storedBytes, chunkIds, chunkLengths };
}
