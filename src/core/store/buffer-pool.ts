/**
 * Reuses the memory of blocks, because allocating and clearing a new MiB takes a tenth of the time of compressing it.
 * The buffers are shared memory, which threads use without a copy. The garbage collector does not account for its size,
 * so buffers are kept for reuse instead of being dropped. Sizes are powers of two from `sizeBytesMin` on.
 */
export class BufferPool {
  readonly #free = new Map<number, Buffer[]>();
  readonly #sizeBytesMin: number;

  constructor(options: { readonly sizeBytesMin: number }) {
    this.#sizeBytesMin = options.sizeBytesMin;
  }

  /** Returns a buffer of at least `sizeBytes`, with arbitrary content. */
  take(sizeBytes: number): Buffer {
    const classBytes = this.sizeOfBuffer(sizeBytes);
    return this.#free.get(classBytes)?.pop() ?? Buffer.from(new SharedArrayBuffer(classBytes));
  }

  /** Returns the size of the buffer that `take` returns. */
  sizeOfBuffer(sizeBytes: number): number {
    let classBytes = this.#sizeBytesMin;
    while (classBytes < sizeBytes) classBytes *= 2;
    return classBytes;
  }

  /** Returns a buffer to the pool; nothing else may use it any more. */
  give(buffer: Buffer): void {
    const free = this.#free.get(buffer.length);
    if (free === undefined) this.#free.set(buffer.length, [buffer]);
    else free.push(buffer);
  }

  /** Takes all free buffers of another pool that nothing uses any more, and cuts longer ones into this size. */
  adopt(other: BufferPool, sizeBytes: number): void {
    for (const buffer of [...other.#free.values()].flat()) {
      for (let start = 0; start < buffer.length; start += sizeBytes)
        this.give(buffer.subarray(start, start + sizeBytes));
    }
    other.#free.clear();
  }
}
