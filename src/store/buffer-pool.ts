/** Reuses the buffers of blocks: allocating and clearing a fresh MiB costs a tenth of compressing it. */
export class BufferPool {
  readonly #free: Buffer[] = [];
  readonly #retainedMax: number;
  readonly #sizeBytesMin: number;

  constructor(options: { readonly sizeBytesMin: number; readonly retainedMax: number }) {
    this.#sizeBytesMin = options.sizeBytesMin;
    this.#retainedMax = options.retainedMax;
  }

  /** A buffer of at least `sizeBytes`, with arbitrary content. */
  take(sizeBytes: number): Buffer {
    let best = -1;
    for (const [index, buffer] of this.#free.entries()) {
      if (buffer.length >= sizeBytes && (best < 0 || buffer.length < this.#free[best]!.length)) best = index;
    }
    if (best >= 0) return this.#free.splice(best, 1)[0]!;
    return Buffer.allocUnsafeSlow(Math.max(sizeBytes, this.#sizeBytesMin));
  }

  /** Gives a buffer back; nobody else may hold it. */
  give(buffer: Buffer): void {
    this.#free.push(buffer);
    if (this.#free.length <= this.#retainedMax) return;
    const largest = this.#free.reduce((best, one, index) => (one.length > this.#free[best]!.length ? index : best), 0);
    this.#free.splice(largest, 1);
  }
}
