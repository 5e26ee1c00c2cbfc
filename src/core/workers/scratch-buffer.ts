const SIZE_BYTES_MIN = 1024 * 1024;

/** Memory that is reused for each call. It only grows, in powers of two, so that few old buffers are left behind. */
export class ScratchBuffer {
  #buffer = Buffer.allocUnsafeSlow(0);

  /** Returns at least `sizeBytes` with arbitrary content, valid until the next call. */
  atLeast(sizeBytes: number): Buffer {
    if (this.#buffer.length < sizeBytes) {
      let lengthBytes = SIZE_BYTES_MIN;
      while (lengthBytes < sizeBytes) lengthBytes *= 2;
      this.#buffer = Buffer.allocUnsafeSlow(lengthBytes);
    }
    return this.#buffer;
  }
}
