import { isZero } from '../../util/zero-bytes.ts';
import { ArchiveError } from '../../errors.ts';

/** The bytes of an archive, in pieces of any size. */
export type ArchiveBytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const NO_BYTES = Buffer.alloc(0);

/** Reads an archive from start to end. */
export class ArchiveInput {
  /** Number of bytes read. */
  offset = 0;
  readonly #pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  #piece: Buffer = NO_BYTES;

  constructor(bytes: ArchiveBytes) {
    this.#pieces = Symbol.asyncIterator in bytes ? bytes[Symbol.asyncIterator]() : bytes[Symbol.iterator]();
  }

  /** Tells the source that nothing more will be read. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  /**
   * Returns exactly this number of bytes, valid until the next call; undefined at the end. Throws ArchiveError in
   * between.
   */
  async take(lengthBytes: number): Promise<Buffer | undefined> {
    if (this.#piece.length >= lengthBytes) return this.#advance(lengthBytes);
    const target = Buffer.allocUnsafe(lengthBytes);
    const readBytes = await this.read(target);
    if (readBytes === lengthBytes) return target;
    if (readBytes === 0) return undefined;
    throw this.truncated();
  }

  /** Returns this number of the next bytes without reading on; fewer at the end. */
  async peek(lengthBytes: number): Promise<Buffer> {
    while (this.#piece.length < lengthBytes) {
      // The source may use the memory again for the next piece.
      const before = Buffer.from(this.#piece);
      this.#piece = NO_BYTES;
      if (!(await this.#next())) {
        this.#piece = before;
        break;
      }
      this.#piece = Buffer.concat([before, this.#piece]);
    }
    return this.#piece.subarray(0, lengthBytes);
  }

  /** Fills the target, unless the archive ends before that. Returns the number of bytes. */
  async read(target: Uint8Array): Promise<number> {
    let done = 0;
    while (done < target.length && (this.#piece.length > 0 || (await this.#next()))) {
      const piece = this.#advance(Math.min(this.#piece.length, target.length - done));
      target.set(piece, done);
      done += piece.length;
    }
    return done;
  }

  /** Reads on past this number of bytes. Throws ArchiveError if the archive ends before that, unless it may. */
  async skip(lengthBytes: number, mayEnd = false): Promise<void> {
    for (let left = lengthBytes; left > 0;) {
      if (this.#piece.length === 0 && !(await this.#next())) {
        if (mayEnd) return;
        throw this.truncated();
      }
      left -= this.#advance(Math.min(this.#piece.length, left)).length;
    }
  }

  /**
   * Reads blocks of zeros: until another block, about this number of bytes, or the end. Returns whether another block
   * comes.
   */
  async skipZeros(blockBytes: number, maxBytes: number): Promise<boolean> {
    for (const end = this.offset + maxBytes; this.offset < end;) {
      if ((await this.peek(blockBytes)).length === 0) return false;
      const restBytes = this.#piece.length < blockBytes ? 0 : this.#piece.length % blockBytes;
      const blocks = this.#piece.subarray(0, this.#piece.length - restBytes);
      const zerosBytes = isZero(blocks) ? blocks.length : blocks.findIndex((byte) => byte !== 0);
      this.#advance(zerosBytes === blocks.length ? zerosBytes : zerosBytes - (zerosBytes % blockBytes));
      if (zerosBytes < blocks.length) return true;
    }
    return false;
  }

  truncated(): ArchiveError {
    return new ArchiveError(`the archive ends in the middle of an entry, after ${this.offset} bytes`);
  }

  #advance(lengthBytes: number): Buffer {
    const piece = this.#piece.subarray(0, lengthBytes);
    this.#piece = this.#piece.subarray(lengthBytes);
    this.offset += lengthBytes;
    return piece;
  }

  async #next(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done === true) return false;
      this.#piece = Buffer.from(value.buffer, value.byteOffset, value.length);
    }
    return true;
  }
}
