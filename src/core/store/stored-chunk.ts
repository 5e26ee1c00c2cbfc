import { CorruptDataError } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';

/** Location of a chunk. */
export interface StoredChunk {
  readonly id: Uint8Array;
  readonly kind: ChunkKind;
  readonly packId: string;
  readonly packBytes: number;
  readonly blockOffset: number;
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
  /** The chunk's share of the stored block. */
  readonly storedBytes: number;
}

/** A block whose chunks can be used until it is released. */
export interface OpenBlock {
  /**
   * Returns the verified bytes of a chunk.
   * @throws CorruptDataError
   */
  bytesOf(chunk: StoredChunk): Uint8Array;
  /** From now on, the memory is used for other blocks. */
  release(): void;
}

/** The key of the block of a chunk in a cache. */
export function keyOf({ packId, blockOffset }: Pick<StoredChunk, 'packId' | 'blockOffset'>): string {
  return `${packId}:${blockOffset}`;
}

export function notItsId({ id, packId, blockOffset }: StoredChunk): CorruptDataError {
  return new CorruptDataError(
    `chunk ${Buffer.from(id).toString('hex')} in pack ${packId} at offset ${blockOffset} does not match its id`,
    { advice: { code: 'check-data-and-repair' } },
  );
}
