import type { ChunkHasher } from '../../crypto/chunk-hasher.ts';
import type { ChunkDepot } from './chunk-depot.ts';

/** Stores serialised trees. */
export class TreeSaver {
  readonly #hasher: ChunkHasher;
  readonly #depot: ChunkDepot;

  constructor(hasher: ChunkHasher, depot: ChunkDepot) {
    this.#hasher = hasher;
    this.#depot = depot;
  }

  /** Returns the tree's id. */
  async save(tree: Uint8Array): Promise<Uint8Array> {
    const id = this.#hasher.treeId(tree);
    await this.#depot.put('tree', id, tree);
    return id;
  }
}
