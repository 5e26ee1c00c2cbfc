import type { ChunkKind } from '../format/chunk-kind.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { StagedChunk } from '../store/chunk-writer.ts';
import type { ChunkSaver, HashingChunk } from './chunk-saver.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';

/**
 * Saves the chunks of what cannot be read again, such as a stream. It looks by name for each pack before it relies on it, so
 * that the chunks of one that is gone are stored again. A backup of files does that only before its commit, and begins again.
 */
class SureChunkSaver implements ChunkSaver {
  readonly #chunks: RepositoryChunkSaver;

  constructor(chunks: RepositoryChunkSaver) {
    this.#chunks = chunks;
  }

  has(ids: Uint8Array, offset: number): boolean {
    return this.#chunks.has(ids, offset);
  }

  async lookFor(id: Uint8Array): Promise<void> {
    await this.#chunks.lookForPackOf(id);
  }

  hasFile(ids: Uint8Array, sizeBytes: number, isEarlier?: boolean): boolean {
    return this.#chunks.hasFile(ids, sizeBytes, isEarlier);
  }

  async put(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array, isEarlier?: boolean): Promise<void> {
    await this.lookFor(id);
    await this.#chunks.put(kind, id, bytes, isEarlier);
  }

  stage(bytes: Uint8Array): HashingChunk {
    return this.#chunks.stage(bytes);
  }

  async putStaged(chunk: HashingChunk): Promise<Uint8Array> {
    await this.lookFor(await chunk.hashing.result());
    return await this.#chunks.putStaged(chunk);
  }

  drop(chunk: HashingChunk): void {
    this.#chunks.drop(chunk);
  }

  allocate(sizeBytes: number): Buffer {
    return this.#chunks.allocate(sizeBytes);
  }

  async putLarge(treeId: Uint8Array, tree: StagedChunk, isEarlier?: boolean): Promise<void> {
    await this.lookFor(treeId);
    await this.#chunks.putLarge(treeId, tree, isEarlier);
  }

  async finish(): Promise<void> {
    await this.#chunks.finish();
  }

  async abandon(): Promise<void> {
    await this.#chunks.abandon();
  }
}

/** Returns how chunks are saved that cannot be read again. Where packs were listed, it is known which are gone. */
export function sureSaver(chunks: RepositoryChunkSaver, { listing }: OpenedState): ChunkSaver {
  return listing.arePacksListed ? chunks : new SureChunkSaver(chunks);
}
