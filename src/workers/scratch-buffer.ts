/** Memory for one use after the other; it only grows. */
export class ScratchBuffer {
  #buffer = Buffer.allocUnsafeSlow(0);

  /** At least `sizeBytes`, with arbitrary content; valid until the next call. */
  atLeast(sizeBytes: number): Buffer {
    if (this.#buffer.length < sizeBytes) this.#buffer = Buffer.allocUnsafeSlow(sizeBytes);
    return this.#buffer;
  }
}
