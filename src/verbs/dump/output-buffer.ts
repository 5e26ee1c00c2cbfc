/** Takes bytes in order. If a promise is returned, wait for it before the next call. The bytes are not changed later. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void> | undefined;

/** Larger pieces are passed on without a copy. */
const BUFFER_BYTES = 256 * 1024;

/** Combines small pieces, such as headers, so that a million of them are not a million system calls. */
export class OutputBuffer {
  /** Number of bytes taken. */
  sizeBytes = 0;
  readonly #write: WriteBytes;
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #end = 0;

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.sizeBytes += bytes.length;
    if (this.#end + bytes.length > BUFFER_BYTES) await this.flush();
    if (bytes.length >= BUFFER_BYTES) return await this.#write(bytes);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  async flush(): Promise<void> {
    if (this.#end === 0) return;
    const bytes = this.#buffer.subarray(0, this.#end);
    // A stream may keep the bytes until its reader takes them.
    this.#buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    this.#end = 0;
    await this.#write(bytes);
  }
}
