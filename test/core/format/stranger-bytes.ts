import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { createBLAKE3 } from 'hash-wasm';

/** Something that contradicts docs/format.md. */
export class FormatError extends Error {}

export function demand(condition: boolean, problem: string): asserts condition {
  if (!condition) throw new FormatError(problem);
}

/** Where fields and records are in the bytes that were read. */
export interface Spans {
  readonly fields: Span[];
  /** A part that consists of fields and may be repeated, such as an entry of a tree. */
  readonly records: Span[];
}

export interface Span {
  readonly offset: number;
  readonly sizeBytes: number;
}

/** Reads the integers and bytes of docs/format.md, "Conventions", one after the other. */
export class Cursor {
  readonly #bytes: Buffer;
  readonly #spans: Spans | undefined;
  readonly #base: number;
  offset = 0;

  /** `spans`: gets the fields that are read. `base`: where the bytes begin in those that `spans` is about. */
  constructor(bytes: Uint8Array, spans?: Spans, base = 0) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#spans = spans;
    this.#base = base;
  }

  /** A cursor for the next bytes, which are a record. */
  record(sizeBytes: number): Cursor {
    const base = this.#base + this.offset;
    const bytes = this.#bytes.subarray(this.offset, this.offset + sizeBytes);
    this.#skip(sizeBytes);
    this.#spans?.records.push({ offset: base, sizeBytes });
    return new Cursor(bytes, this.#spans, base);
  }

  get leftBytes(): number {
    return this.#bytes.length - this.offset;
  }

  take(sizeBytes: number): Buffer {
    if (sizeBytes > 0) this.#spans?.fields.push({ offset: this.#base + this.offset, sizeBytes });
    this.#skip(sizeBytes);
    return this.#bytes.subarray(this.offset - sizeBytes, this.offset);
  }

  #skip(sizeBytes: number): void {
    demand(sizeBytes <= this.leftBytes, `${sizeBytes} bytes wanted, ${this.leftBytes} left`);
    this.offset += sizeBytes;
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16LE();
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  u64(): number {
    const value = this.take(8).readBigUInt64LE();
    demand(value < 2n ** 53n, `the size ${value} is too large`);
    return Number(value);
  }

  i64(): bigint {
    return this.take(8).readBigInt64LE();
  }

  u32s(count: number): number[] {
    demand(4 * count <= this.leftBytes, 'too many numbers');
    return Array.from({ length: count }, () => this.u32());
  }

  hex(sizeBytes: number): string {
    return this.take(sizeBytes).toString('hex');
  }

  hexes(count: number, sizeBytes: number): string[] {
    demand(count * sizeBytes <= this.leftBytes, 'too many ids');
    return Array.from({ length: count }, () => this.hex(sizeBytes));
  }

  zeros(sizeBytes: number): void {
    demand(
      this.take(sizeBytes).every((byte) => byte === 0),
      'zeros are not zero',
    );
  }

  magic(text: string): void {
    const found = this.take(text.length).toString('latin1');
    demand(found === text, `the magic is ${JSON.stringify(found)} instead of ${text}`);
  }

  end(): void {
    demand(this.leftBytes === 0, `${this.leftBytes} bytes follow the end`);
  }
}

export function u16(value: number): Buffer {
  return Buffer.from(Uint16Array.of(value).buffer);
}

export function u32(...values: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}

export function u64(value: number | bigint): Buffer {
  return Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
}

export function checksumOf(...parts: readonly Uint8Array[]): number {
  return crc32(Buffer.concat(parts));
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const blake3Hasher = createBLAKE3();

/** The name of a pack, by BLAKE3. */
export async function blake3(bytes: Uint8Array): Promise<string> {
  return (await blake3Hasher).init().update(bytes).digest();
}
