import type { ChunkHasher } from '../../crypto/chunk-hasher.ts';
import type { ChunkDepot } from './chunk-depot.ts';
import type { ParentTree } from './parent-tree.ts';

/** Stores serialised trees. */
export class TreeSaver {
  readonly #hasher: ChunkHasher;
  readonly #depot: ChunkDepot;

  constructor(hasher: ChunkHasher, depot: ChunkDepot) {
    this.#hasher = hasher;
    this.#depot = depot;
  }

  /** Returns the tree's id. `before` is what the directory was; the same bytes need not be hashed again. */
  async save(tree: Uint8Array, before: ParentTree | undefined): Promise<Uint8Array> {
    const isSame = before !== undefined && Buffer.compare(tree, before.bytes) === 0;
    const id = isSame ? before.id : this.#hasher.treeId(tree);
    await this.#depot.put('tree', id, tree);
    return id;
  }
}
