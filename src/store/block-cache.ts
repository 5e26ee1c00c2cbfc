/** Blocks that were read lately, or are being read; the least recently used go first. */
export class BlockCache<Block extends { readonly raw: Uint8Array }> {
  readonly #sizeBytesMax: number;
  readonly #blocks = new Map<string, CachedBlock<Block>>();
  #sizeBytes = 0;

  constructor(sizeBytesMax: number) {
    this.#sizeBytesMax = sizeBytesMax;
  }

  get(key: string): CachedBlock<Block> | undefined {
    const block = this.#blocks.get(key);
    if (block === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    return block;
  }

  /** Remembers a load under way. One that fails is forgotten, so that the next reader tries again and gets the error. */
  put(key: string, loading: Promise<Block>): CachedBlock<Block> {
    const cached: CachedBlock<Block> = { loading, loaded: undefined };
    this.#blocks.set(key, cached);
    loading.then(
      (block) => {
        cached.loaded = block;
        this.#sizeBytes += block.raw.length;
        this.#shrink();
      },
      () => this.#blocks.delete(key),
    );
    return cached;
  }

  #shrink(): void {
    for (const [key, { loaded }] of this.#blocks) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return;
      if (loaded === undefined) continue;
      this.#sizeBytes -= loaded.raw.length;
      this.#blocks.delete(key);
    }
  }
}

export interface CachedBlock<Block> {
  readonly loading: Promise<Block>;
  /** Set once loaded, so that a hit needs no turn of the event loop. */
  loaded: Block | undefined;
}
