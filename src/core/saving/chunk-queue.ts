import type { ChunkSaver, HashingChunk } from './chunk-saver.ts';

/** Maximum bytes that are being hashed while more is read. One chunk is always allowed. */
const HASHING_BYTES_MAX = 4 * 1024 * 1024;

interface QueuedChunk {
  readonly chunk: HashingChunk;
  readonly onStored: (ids: Uint8Array) => void;
}

/** Stores a chunk as small ones. Returns their ids; undefined if it must be stored as it is. */
export type Split = (chunk: HashingChunk) => Promise<Uint8Array | undefined>;

/** Chunks of large files: hashed in other threads while more is read, and stored in order. */
export class ChunkQueue {
  readonly #saver: ChunkSaver;
  readonly #split: Split | undefined;
  readonly #hashing: QueuedChunk[] = [];
  #hashingBytes = 0;

  constructor(saver: ChunkSaver, split?: Split) {
    this.#saver = saver;
    this.#split = split;
  }

  /** Copies the bytes. `onStored` is called in the order of the calls, with several ids if the chunk was split. */
  async append(bytes: Uint8Array, onStored: (ids: Uint8Array) => void): Promise<void> {
    while (this.#hashing.length > 0 && this.#hashingBytes + bytes.length > HASHING_BYTES_MAX) await this.#takeFirst();
    this.#hashing.push({ chunk: this.#saver.stage(bytes), onStored });
    this.#hashingBytes += bytes.length;
  }

  /** Waits until all chunks are stored. */
  async finish(): Promise<void> {
    while (this.#hashing.length > 0) await this.#takeFirst();
  }

  /** Discards the chunks of a file that could not be read completely. */
  dispose(): void {
    for (const { chunk } of this.#hashing.splice(0)) this.#saver.drop(chunk);
    this.#hashingBytes = 0;
  }

  async #takeFirst(): Promise<void> {
    const { chunk, onStored } = this.#hashing.shift()!;
    this.#hashingBytes -= chunk.lengthBytes;
    onStored((await this.#split?.(chunk)) ?? (await this.#saver.putStaged(chunk)));
  }
}
