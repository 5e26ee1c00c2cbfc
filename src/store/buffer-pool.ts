/**
 * Reuses the memory of blocks: allocating and clearing a fresh MiB costs a tenth of compressing it. It is shared memory,
 * on which a thread works without a copy; the garbage collector does not see how large that is, so none is thrown away.
 * Sizes are powers of two from `sizeBytesMin` on.
 */
export class BufferPool {
  readonly #free = new Map<number, Buffer[]>();
  readonly #sizeBytesMin: number;

  constructor(options: { readonly sizeBytesMin: number }) {
    this.#sizeBytesMin = options.sizeBytesMin;
  }

  /** A buffer of at least `sizeBytes`, with arbitrary content. */
  take(sizeBytes: number): Buffer {
    let classBytes = this.#sizeBytesMin;
    while (classBytes < sizeBytes) classBytes *= 2;
    return this.#free.get(classBytes)?.pop() ?? Buffer.from(new SharedArrayBuffer(classBytes));
  }

  /** Gives a buffer back; nobody else may hold it. */
  give(buffer: Buffer): void {
    const free = this.#free.get(buffer.length);
    if (free === undefined) this.#free.set(buffer.length, [buffer]);
    else free.push(buffer);
  }
}
