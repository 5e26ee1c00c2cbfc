import type { ChunkDepot, HashedChunk } from './chunk-depot.ts';

/** So many chunks of a file may be on their way to their ids while more of it is read. */
const HASHING_MAX = 4;

/** The chunks of one large file, hashed beside its reading and taken into the repository in their order. */
export class ChunkRow {
  readonly #depot: ChunkDepot;
  readonly #hashing: HashedChunk[] = [];
  readonly #ids: Uint8Array[] = [];

  constructor(depot: ChunkDepot) {
    this.#depot = depot;
  }

  /** Takes a copy of the bytes. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#hashing.push(this.#depot.hold(bytes));
    if (this.#hashing.length > HASHING_MAX) await this.#takeFirst();
  }

  /** The ids of all chunks, one after the other. */
  async finish(): Promise<Uint8Array> {
    while (this.#hashing.length > 0) await this.#takeFirst();
    return Buffer.concat(this.#ids);
  }

  /** Lets go of the chunks of a file that could not be read to its end. */
  async dispose(): Promise<void> {
    for (const chunk of this.#hashing.splice(0)) await this.#depot.drop(chunk);
  }

  async #takeFirst(): Promise<void> {
    this.#ids.push(await this.#depot.putHeld(this.#hashing.shift()!));
  }
}
