/** Raw blocks that were read lately, or are being read; the least recently used go first. */
export class BlockCache {
  readonly #sizeBytesMax: number;
  readonly #blocks = new Map<string, CachedBlock>();
  #sizeBytes = 0;

  constructor(sizeBytesMax: number) {
    this.#sizeBytesMax = sizeBytesMax;
  }

  get(key: string): CachedBlock | undefined {
    const block = this.#blocks.get(key);
    if (block === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    return block;
  }

  /** Remembers a load under way. One that fails is forgotten, so that the next reader tries again and gets the error. */
  put(key: string, loading: Promise<Uint8Array>): CachedBlock {
    const block: CachedBlock = { loading, raw: undefined };
    this.#blocks.set(key, block);
    loading.then(
      (raw) => {
        block.raw = raw;
        this.#sizeBytes += raw.length;
        this.#shrink();
      },
      () => this.#blocks.delete(key),
    );
    return block;
  }

  #shrink(): void {
    for (const [key, block] of this.#blocks) {
      if (this.#sizeBytes <= this.#sizeBytesMax) return;
      if (block.raw === undefined) continue;
      this.#sizeBytes -= block.raw.length;
      this.#blocks.delete(key);
    }
  }
}

export interface CachedBlock {
  readonly loading: Promise<Uint8Array>;
  /** Set once loaded, so that a hit needs no turn of the event loop. */
  raw: Uint8Array | undefined;
}
