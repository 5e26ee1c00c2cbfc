import type { ChunkSaver, HashingChunk } from './chunk-saver.ts';

/** Maximum bytes of a file that are being hashed while more of it is read. One chunk is always allowed. */
const HASHING_BYTES_MAX = 4 * 1024 * 1024;

/** The chunks of one large file: hashed while the file is read, and stored in order. */
export class ChunkQueue {
  readonly #saver: ChunkSaver;
  readonly #hashing: HashingChunk[] = [];
  readonly #ids: Uint8Array[] = [];
  #hashingBytes = 0;

  constructor(saver: ChunkSaver) {
    this.#saver = saver;
  }

  /** Copies the bytes. */
  async append(bytes: Uint8Array): Promise<void> {
    while (this.#hashing.length > 0 && this.#hashingBytes + bytes.length > HASHING_BYTES_MAX) await this.#takeFirst();
    this.#hashing.push(this.#saver.stage(bytes));
    this.#hashingBytes += bytes.length;
  }

  /** Returns the concatenated ids of all chunks. */
  async finish(): Promise<Uint8Array> {
    while (this.#hashing.length > 0) await this.#takeFirst();
    return Buffer.concat(this.#ids);
  }

  /** Discards the chunks of a file that could not be read completely. */
  dispose(): void {
    for (const chunk of this.#hashing.splice(0)) this.#saver.drop(chunk);
  }

  async #takeFirst(): Promise<void> {
    const chunk = this.#hashing.shift()!;
    this.#hashingBytes -= chunk.lengthBytes;
    this.#ids.push(await this.#saver.putStaged(chunk));
  }
}
