import { TreeReader } from '../format/tree/tree.ts';
import type { StateReader } from '../repository/state-reader.ts';

/** Enough for the directories on the way to a few files. Of larger trees, the last one is kept besides. */
const CACHE_BYTES = 16 * 1024 * 1024;

interface CachedTree {
  readonly tree: TreeReader;
  readonly sizeBytes: number;
}

/**
 * Keeps the trees in which entries were found last, so that the next path in a large directory does not decompress and
 * check it again.
 */
export class TreeCache {
  readonly #reader: StateReader;
  readonly #trees = new Map<string, CachedTree>();
  #sizeBytes = 0;
  #large: { readonly key: string; readonly tree: TreeReader } | undefined;

  constructor(reader: StateReader) {
    this.#reader = reader;
  }

  /** The tree must be used only to find entries and for pages, since others use it too. */
  readonly open = async (treeId: Uint8Array): Promise<Pick<TreeReader, 'find' | 'page'>> => {
    const key = Buffer.from(treeId).toString('hex');
    if (this.#large?.key === key) return this.#large.tree;
    const cached = this.#trees.get(key);
    if (cached !== undefined) {
      this.#trees.delete(key);
      this.#trees.set(key, cached);
      return cached.tree;
    }
    const bytes = await this.#reader.read(treeId, 0);
    const tree = new TreeReader(bytes);
    // Were it one of them, the small trees on the way to it would take its place at each path that is looked up.
    if (bytes.length > CACHE_BYTES) this.#large = { key, tree };
    else if (!this.#trees.has(key)) this.#add(key, { tree, sizeBytes: bytes.length });
    return tree;
  };

  #add(key: string, added: CachedTree): void {
    this.#trees.set(key, added);
    this.#sizeBytes += added.sizeBytes;
    for (const [oldKey, { sizeBytes }] of this.#trees) {
      if (this.#sizeBytes <= CACHE_BYTES || oldKey === key) return;
      this.#trees.delete(oldKey);
      this.#sizeBytes -= sizeBytes;
    }
  }
}
