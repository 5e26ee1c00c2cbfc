import type { ChunkDepot, HashedChunk } from './chunk-depot.ts';

/** So much of a file may be on its way to its ids while more of it is read; one chunk always. */
const HASHING_BYTES_MAX = 4 * 1024 * 1024;

/** The chunks of one large file, hashed beside its reading and taken into the repository in their order. */
export class ChunkRow {
  readonly #depot: ChunkDepot;
  readonly #hashing: HashedChunk[] = [];
  readonly #ids: Uint8Array[] = [];
  #hashingBytes = 0;

  constructor(depot: ChunkDepot) {
    this.#depot = depot;
  }

  /** Takes a copy of the bytes. */
  async append(bytes: Uint8Array): Promise<void> {
    while (this.#hashing.length > 0 && this.#hashingBytes + bytes.length > HASHING_BYTES_MAX) await this.#takeFirst();
    this.#hashing.push(this.#depot.hold(bytes));
    this.#hashingBytes += bytes.length;
  }

  /** The ids of all chunks, one after the other. */
  async finish(): Promise<Uint8Array> {
    while (this.#hashing.length > 0) await this.#takeFirst();
    return Buffer.concat(this.#ids);
  }

  /** Lets go of the chunks of a file that could not be read to its end. */
  dispose(): void {
    for (const chunk of this.#hashing.splice(0)) this.#depot.drop(chunk);
  }

  async #takeFirst(): Promise<void> {
    const chunk = this.#hashing.shift()!;
    this.#hashingBytes -= chunk.lengthBytes;
    this.#ids.push(await this.#depot.putHeld(chunk));
  }
}
