const SIZE_BYTES_MIN = 1024 * 1024;

/** Memory for one use after the other; it only grows, in powers of two, so that few pieces are left behind. */
export class ScratchBuffer {
  #buffer = Buffer.allocUnsafeSlow(0);

  /** At least `sizeBytes`, with arbitrary content; valid until the next call. */
  atLeast(sizeBytes: number): Buffer {
    if (this.#buffer.length < sizeBytes) {
      let lengthBytes = SIZE_BYTES_MIN;
      while (lengthBytes < sizeBytes) lengthBytes *= 2;
      this.#buffer = Buffer.allocUnsafeSlow(lengthBytes);
    }
    return this.#buffer;
  }
}
