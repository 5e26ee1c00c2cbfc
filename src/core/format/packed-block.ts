import type { Codec } from './block.ts';
import { CHUNK_ID_BYTES } from './constants.ts';

/** A block in a pack, and its chunks. */
export interface PackedBlock {
  /** Offset in the pack. */
  readonly offset: number;
  /** Size in the pack: header, table and payload, and what sealing adds. */
  readonly sizeBytes: number;
  readonly codec: Codec;
  readonly rawBytes: number;
  /** Size of the payload only. */
  readonly storedBytes: number;
  /** 20 bytes per chunk. */
  readonly chunkIds: Uint8Array;
  readonly chunkLengths: Uint32Array;
}

/**
 * Size of the part of the complete block that represents its first `endBytes` raw bytes. The differences of these shares
 * add up to the block exactly, despite rounding.
 */
export function shareOfBlock(block: PackedBlock, endBytes: number): number {
  return Math.floor((endBytes / block.rawBytes) * block.sizeBytes);
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
