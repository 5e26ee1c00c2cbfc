import { crc32 } from 'node:zlib';
import { CorruptDataError } from '../errors.ts';
import { MAX_U32 } from './constants.ts';

/** Whether this machine has the byte order of the format, so that typed arrays can be copied as bytes. */
const LITTLE_ENDIAN: boolean = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Below this length, creating the views for a copy costs more than the copy. */
const BULK_COPY_LENGTH = 64;

/** Reads little-endian values in sequence, and never past the end. */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #offset: number;

  /** `what` prefixes error messages. */
  constructor(bytes: Uint8Array, what: string, offset = 0) {
    this.#bytes = bufferOver(bytes);
    this.#what = what;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  u8(): number {
    return this.#bytes[this.#take(1)]!;
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  /** @throws CorruptDataError if a JavaScript number cannot represent the value exactly */
  u64(): number {
    const offset = this.#take(8);
    const value = this.#bytes.readUInt32LE(offset + 4) * (MAX_U32 + 1) + this.#bytes.readUInt32LE(offset);
    if (!Number.isSafeInteger(value)) this.fail(`the number at byte ${offset} is too large`);
    return value;
  }

  bigU64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8));
  }

  /** Returns a view, not a copy. */
  bytes(length: number): Buffer {
    const offset = this.#take(length);
    return this.#bytes.subarray(offset, offset + length);
  }

  /** Like `bytes`, but without creating a Buffer, which takes several times as long. */
  view(length: number): Uint8Array {
    const offset = this.#take(length);
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + offset, length);
  }

  /** One character per byte. */
  latin1(length: number): string {
    const offset = this.#take(length);
    return this.#bytes.toString('latin1', offset, offset + length);
  }

  hex(length: number): string {
    const offset = this.#take(length);
    return this.#bytes.toString('hex', offset, offset + length);
  }

  /** Returns a copy. */
  u32Array(length: number): Uint32Array {
    const offset = this.#take(length * 4);
    const values = new Uint32Array(length);
    if (LITTLE_ENDIAN && length >= BULK_COPY_LENGTH) {
      new Uint8Array(values.buffer).set(this.#bytes.subarray(offset, offset + length * 4));
    } else {
      for (let i = 0; i < length; i++) values[i] = this.#bytes.readUInt32LE(offset + i * 4);
    }
    return values;
  }

  /** Reads reserved bytes, which must be 0. */
  zeros(length: number): void {
    const offset = this.#take(length);
    for (let i = offset; i < offset + length; i++) {
      if (this.#bytes[i] !== 0) this.fail(`byte ${i} must be 0, it is ${this.#bytes[i]}`);
    }
  }

  /** Reads a fixed ASCII text. */
  magic(expected: string): void {
    const found = this.latin1(expected.length);
    if (found !== expected) this.fail(`begins with ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }

  end(): void {
    if (this.remaining > 0) this.fail(`${this.remaining} bytes too many`);
  }

  fail(problem: string): never {
    throw new CorruptDataError(`${this.#what}: ${problem}`);
  }

  #take(length: number): number {
    const offset = this.#offset;
    if (length > this.#bytes.length - offset) {
      this.fail(`ends at byte ${this.#bytes.length}, but ${length} bytes are needed from byte ${offset} on`);
    }
    this.#offset = offset + length;
    return offset;
  }
}

/** Returns a Buffer over the same memory. */
export function bufferOver(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** CRC-32 (ISO-HDLC, as in zlib) of the concatenated pieces. */
export function checksumOf(...pieces: readonly Uint8Array[]): number {
  return pieces.reduce((checksum, piece) => crc32(piece, checksum), 0);
}
