interface BufferPoolOptions {
  readonly sizeBytesMin: number;
  /** Buffers up to this size, which is `sizeBytesMin` times a power of two, share memory of this size. */
  readonly splitBytes?: number;
}

/**
 * Reuses the memory of blocks, because allocating and clearing a new MiB takes a tenth of the time of compressing it.
 * The buffers are shared memory, which threads use without a copy. The garbage collector does not account for its size,
 * so buffers are kept for reuse instead of being dropped. Sizes are powers of two from `sizeBytesMin` on.
 *
 * With `splitBytes`, a larger buffer is halved for smaller ones, and free halves are joined again. Otherwise a pool ends
 * up with as many buffers of each size as were ever in use at the same time.
 */
export class BufferPool {
  readonly #free = new Map<number, Buffer[]>();
  readonly #sizeBytesMin: number;
  readonly #splitBytes: number;

  constructor({ sizeBytesMin, splitBytes = 0 }: BufferPoolOptions) {
    this.#sizeBytesMin = sizeBytesMin;
    this.#splitBytes = splitBytes;
  }

  /** Returns a buffer of at least `sizeBytes`, with arbitrary content. */
  take(sizeBytes: number): Buffer {
    const classBytes = this.sizeOfBuffer(sizeBytes);
    const wholeBytes = Math.max(classBytes, this.#splitBytes);
    for (let fromBytes = classBytes; fromBytes <= wholeBytes; fromBytes *= 2) {
      const buffer = this.#free.get(fromBytes)?.pop();
      if (buffer !== undefined) return this.#split(buffer, classBytes);
    }
    // What is not touched of it takes no memory.
    return this.#split(Buffer.from(new SharedArrayBuffer(wholeBytes)), classBytes);
  }

  /** Returns the size of the buffer that `take` returns. */
  sizeOfBuffer(sizeBytes: number): number {
    let classBytes = this.#sizeBytesMin;
    while (classBytes < sizeBytes) classBytes *= 2;
    return classBytes;
  }

  /** Returns a buffer to the pool; nothing else may use it any more. */
  give(buffer: Buffer): void {
    let free = buffer;
    while (free.length < this.#splitBytes) {
      const other = this.#takeOtherHalf(free);
      if (other === undefined) break;
      free = Buffer.from(free.buffer, Math.min(free.byteOffset, other.byteOffset), 2 * free.length);
    }
    this.#add(free);
  }

  #add(buffer: Buffer): void {
    const free = this.#free.get(buffer.length);
    if (free === undefined) this.#free.set(buffer.length, [buffer]);
    else free.push(buffer);
  }

  #split(buffer: Buffer, sizeBytes: number): Buffer {
    let kept = buffer;
    while (kept.length > sizeBytes) {
      const half = kept.length / 2;
      this.#add(kept.subarray(half));
      kept = kept.subarray(0, half);
    }
    return kept;
  }

  #takeOtherHalf({ buffer, byteOffset, length }: Buffer): Buffer | undefined {
    const otherOffset = byteOffset % (2 * length) === 0 ? byteOffset + length : byteOffset - length;
    const free = this.#free.get(length) ?? [];
    const index = free.findIndex((other) => other.buffer === buffer && other.byteOffset === otherOffset);
    return index < 0 ? undefined : free.splice(index, 1)[0];
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
