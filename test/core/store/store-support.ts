import { randomBytes } from 'node:crypto';
import type { Backend } from '../../../src/core/backend/backend.ts';
import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { CHUNK_ID_BYTES } from '../../../src/core/format/constants.ts';
import { blockBytes, encodeBlockHeader } from '../../../src/core/format/block.ts';
import { forEachChunk } from '../../../src/core/format/packed-block.ts';
import type { ChunkKind } from '../../../src/core/format/chunk-kind.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { BlockCodec } from '../../../src/core/store/block-codec.ts';
import type { EncodedBlock } from '../../../src/core/store/block-codec.ts';
import type { StoredChunk } from '../../../src/core/store/stored-chunk.ts';
import type { BlockPlace } from '../../../src/core/store/pack-reader.ts';
import type { PackSink } from '../../../src/core/store/pack-writer.ts';
import { Compressor } from '../../../src/core/workers/compression.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

export const hasher: ChunkHasher = new ChunkHasher('sha1', Buffer.alloc(32, 1));
export const threads: TaskPool = new TaskPool();
export const codec: BlockCodec = new BlockCodec({
  seals: PLAIN,
  hasher,
  threads,
  compressor: new Compressor(threads, 3),
});

/** A repository's storage without the repository, and so with every directory: none is made where there is none. */
export function emptyStorage(): MemoryBackend {
  const backend = new MemoryBackend();
  backend.pokeDirectory('tmp');
  for (let byte = 0; byte < 256; byte += 1) backend.pokeDirectory(`packs/${byte.toString(16).padStart(2, '0')}`);
  return backend;
}

/** The sink that the product uses. */
export function sinkOf(backend: Backend): PackSink {
  return new DurableOrder(plainPlace(backend));
}

/** A block of one chunk, stored as it is. */
export function rawBlock(kind: ChunkKind, bytes: Uint8Array, chunkId: Uint8Array = randomId()): EncodedBlock {
  const chunkLengths = Uint32Array.of(bytes.length);
  const sizes = { codec: 'raw', rawBytes: bytes.length, storedBytes: bytes.length, chunkLengths } as const;
  const sizeBytes = blockBytes(1, bytes.length);
  return { ...sizes, sizeBytes, chunkIds: chunkId, pieces: [encodeBlockHeader({ kind, ...sizes }), bytes] };
}

/** Where a block of a pack is. */
export function placeOf(pack: PackContents, { offset, sizeBytes: expectedBytes }: PackedBlock): BlockPlace {
  return { packId: pack.id, packBytes: pack.sizeBytes, offset, expectedBytes };
}

/** Every chunk of a pack, in order. */
export function chunksOf(pack: PackContents): StoredChunk[] {
  const chunks: StoredChunk[] = [];
  for (const block of pack.blocks) {
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
      const id = block.chunkIds.slice(idOffset, idOffset + CHUNK_ID_BYTES);
      const place = { packId: pack.id, packBytes: pack.sizeBytes, blockOffset: block.offset, offsetInBlock };
      chunks.push({ id, kind: pack.kind, ...place, lengthBytes, storedBytes });
    });
  }
  return chunks;
}

export function randomId(): Uint8Array {
  return new Uint8Array(randomBytes(CHUNK_ID_BYTES));
}
