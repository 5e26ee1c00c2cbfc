import type { ChunkHasher } from '../../crypto/chunk-hasher.ts';
import { CorruptDataError } from '../../errors.ts';
import { blockBytes, decodeBlockHeader } from '../../format/block.ts';
import { BLOCK_MAGIC, PACK_HEADER_BYTES_V1 } from '../../format/constants.ts';
import type { ChunkKind } from '../../format/chunk-kind.ts';
import type { PackedBlock } from '../../format/pack.ts';
import { unpack } from '../../workers/compression.ts';

/** A block that was found in the bytes of a pack, with its raw bytes. */
export interface ScannedBlock {
  readonly kind: ChunkKind;
  readonly block: PackedBlock;
  readonly raw: Uint8Array;
}

/**
 * Finds the readable blocks of a pack by their headers, without its footer. The ids are computed from the bytes, so
 * that a chunk is found under its name or not at all. Visits one block after the other.
 */
export async function scanBlocks(
  bytes: Buffer,
  hasher: ChunkHasher,
  visit: (scanned: ScannedBlock) => Promise<void>,
): Promise<void> {
  const magic = Buffer.alloc(4);
  magic.writeUInt32LE(BLOCK_MAGIC);
  let offset = bytes.indexOf(magic, Math.min(PACK_HEADER_BYTES_V1, bytes.length));
  while (offset >= 0) {
    const scanned = await readAt(bytes, offset, hasher);
    if (scanned !== undefined) await visit(scanned);
    const { block } = scanned ?? { block: undefined };
    const next = block === undefined ? offset + 1 : offset + blockBytes(block.chunkLengths.length, block.storedBytes);
    offset = bytes.indexOf(magic, next);
  }
}

async function readAt(bytes: Buffer, offset: number, hasher: ChunkHasher): Promise<ScannedBlock | undefined> {
  try {
    const { kind, codec, rawBytes, storedBytes, chunkLengths } = decodeBlockHeader(bytes.subarray(offset));
    const end = offset + blockBytes(chunkLengths.length, storedBytes);
    if (end > bytes.length) return undefined;
    const payload = new Uint8Array(bytes.subarray(end - storedBytes, end));
    const proof = { key: hasher.keyOf(kind), chunkLengths };
    const { raw, chunkIds } = await unpack({ codec, payload, rawBytes, proof });
    return { kind, raw, block: { offset, codec, rawBytes, storedBytes, chunkIds, chunkLengths } };
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return undefined;
  }
}
