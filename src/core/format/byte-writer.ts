import assert from 'node:assert/strict';
import { MAX_U32 } from './constants.ts';

/** Up to this length, a loop copies faster than a call of `set`. */
const SHORT_BYTES = 40;

/** Fills a buffer of known length with little-endian values. A value that does not fit is a programming error. */
export class ByteWriter {
  readonly buffer: Buffer;
  #offset = 0;

  /** `buffer`: memory to fill; by default new memory, which is zero. */
  constructor(sizeBytes: number, buffer: Buffer = Buffer.alloc(sizeBytes)) {
    this.buffer = buffer;
  }

  get offset(): number {
    return this.#offset;
  }

  u8(value: number): void {
    this.#offset = this.buffer.writeUInt8(value, this.#offset);
  }

  u16(value: number): void {
    this.#offset = this.buffer.writeUInt16LE(value, this.#offset);
  }

  u32(value: number): void {
    this.#offset = this.buffer.writeUInt32LE(value, this.#offset);
  }

  u64(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0);
    this.u32(value % (MAX_U32 + 1));
    this.u32(Math.floor(value / (MAX_U32 + 1)));
  }

  bigU64(value: bigint): void {
    const number = Number(value);
    if (Number.isSafeInteger(number)) this.u64(number);
    else this.#offset = this.buffer.writeBigUInt64LE(value, this.#offset);
  }

  /** Writes a signed integer in two's complement. */
  i64(value: number): void {
    assert(Number.isSafeInteger(value));
    const high = Math.floor(value / (MAX_U32 + 1));
    this.u32(value - high * (MAX_U32 + 1));
    this.#offset = this.buffer.writeInt32LE(high, this.#offset);
  }

  bytes(bytes: Uint8Array): void {
    assert(bytes.length <= this.buffer.length - this.#offset);
    if (bytes.length > SHORT_BYTES) this.buffer.set(bytes, this.#offset);
    else for (let i = 0; i < bytes.length; i++) this.buffer[this.#offset + i] = bytes[i]!;
    this.#offset += bytes.length;
  }

  /** One byte per character. */
  latin1(text: string): void {
    const written = this.buffer.write(text, this.#offset, 'latin1');
    assert(written === text.length);
    this.#offset += written;
  }

  /** Leaves bytes at 0. */
  skip(length: number): void {
    this.#offset += length;
  }

  /** Returns the buffer, which must be full. */
  finish(): Buffer {
    assert(this.#offset === this.buffer.length);
    return this.buffer;
  }
}
