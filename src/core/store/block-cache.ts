/** Caches blocks that were read recently or are being read; evicts the least recently used ones first. */
export class BlockCache<Block extends { readonly buffer: Uint8Array }> {
  readonly #sizeBytesMax: number;
  readonly #onGone: (block: Block) => void;
  readonly #blocks = new Map<string, CachedBlock<Block>>();
  #sizeBytes = 0;

  /** `onGone` is called with each block that has left the cache and is not in use. */
  constructor(sizeBytesMax: number, onGone: (block: Block) => void) {
    this.#sizeBytesMax = sizeBytesMax;
    this.#onGone = onGone;
  }

  get(key: string): CachedBlock<Block> | undefined {
    const block = this.#blocks.get(key);
    if (block === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    return block;
  }

  /**
   * Adds a block that is being loaded. If loading fails, the block is removed, so that the next reader tries again and
   * gets the error.
   */
  put(key: string, loading: Promise<Block>): CachedBlock<Block> {
    const cached: CachedBlock<Block> = { loading, loaded: undefined, userCount: 0 };
    this.#blocks.set(key, cached);
    loading.then(
      (block) => {
        cached.loaded = block;
        this.#sizeBytes += block.buffer.length;
        this.#shrink();
      },
      () => this.#blocks.delete(key),
    );
    return cached;
  }

  /** The memory that is left for more blocks. */
  get freeBytes(): number {
    return this.#sizeBytesMax - this.#sizeBytes;
  }

  /** Adds a block that is not in the cache. */
  add(key: string, block: Block): void {
    this.#blocks.set(key, { loading: Promise.resolve(block), loaded: block, userCount: 0 });
    this.#sizeBytes += block.buffer.length;
    this.#shrink();
  }

  /** Removes a loaded block from the cache without calling `onGone`. The caller then owns it. */
  detach(key: string): void {
    const block = this.#blocks.get(key)?.loaded;
    if (block === undefined || !this.#blocks.delete(key)) return;
    this.#sizeBytes -= block.buffer.length;
  }

  /** Removes a loaded block from the cache. Its memory is not used again if a caller waits for it. */
  drop(key: string): void {
    const block = this.#blocks.get(key);
    if (block?.loaded === undefined) return;
    this.detach(key);
    if (block.userCount === 0) this.#onGone(block.loaded);
  }

  /** Waits for a block and passes it to `action`. The block stays in the cache until then. */
  async use(cached: CachedBlock<Block>, action: (block: Block) => void): Promise<void> {
    cached.userCount += 1;
    try {
      action(await cached.loading);
    } finally {
      cached.userCount -= 1;
      this.#shrink();
    }
  }

  #shrink(): void {
    for (const [key, { loaded, userCount }] of this.#blocks) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return;
      if (loaded === undefined || userCount > 0) continue;
      this.#sizeBytes -= loaded.buffer.length;
      this.#blocks.delete(key);
      this.#onGone(loaded);
    }
  }
}

export interface CachedBlock<Block> {
  readonly loading: Promise<Block>;
  /** Set after loading, so that a cache hit does not need to await a promise. */
  loaded: Block | undefined;
  /** Number of callers that wait for it. */
  userCount: number;
}
