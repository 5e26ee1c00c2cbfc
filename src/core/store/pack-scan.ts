import { CorruptDataError } from '../errors.ts';
import { PACK_HEADER_BYTES_V1 } from '../format/constants.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { BorrowedChunks } from '../format/borrowed-block.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import { sizeOfBlock } from './block-codec.ts';
import type { BlockCodec } from './block-codec.ts';

/** A block that was found in the bytes of a pack. */
export interface ScannedBlock {
  readonly kind: ChunkKind;
  readonly block: PackedBlock;
  /** The bytes of its chunks, or who keeps them. */
  readonly content: { readonly raw: Uint8Array } | { readonly borrowed: BorrowedChunks };
}

/**
 * Finds the readable blocks of a pack by their headers, without its footer. The ids are computed from the bytes, so
 * that a chunk is found under its name or not at all. Visits one block after the other.
 */
export async function scanBlocks(
  bytes: Buffer,
  codec: BlockCodec,
  visit: (scanned: ScannedBlock) => Promise<void>,
): Promise<void> {
  const magic = codec.blockMagic;
  let offset = bytes.indexOf(magic, Math.min(PACK_HEADER_BYTES_V1, bytes.length));
  while (offset >= 0) {
    const scanned = await readAt(bytes, offset, codec);
    if (scanned !== undefined) await visit(scanned);
    offset = bytes.indexOf(magic, offset + (scanned?.block.sizeBytes ?? 1));
  }
}

async function readAt(bytes: Buffer, offset: number, codec: BlockCodec): Promise<ScannedBlock | undefined> {
  try {
    const sizeBytes = sizeOfBlock(bytes.subarray(offset));
    const end = offset + sizeBytes;
    if (end > bytes.length) return undefined;
    const { codec: encoding } = codec.readHeader(bytes.subarray(offset, end));
    if (encoding === 'borrowed') {
      const { header, ...borrowed } = codec.openBorrowed(bytes.subarray(offset, end));
      const block = { ...header, offset, sizeBytes, chunkIds: borrowed.chunkIds };
      return { kind: header.kind, content: { borrowed }, block };
    }
    // A copy, because its memory is transferred to a thread.
    const { header, raw, chunkIds } = await codec.open(new Uint8Array(bytes.subarray(offset, end)));
    return { kind: header.kind, content: { raw }, block: { ...header, offset, sizeBytes, chunkIds } };
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return undefined;
  }
}
