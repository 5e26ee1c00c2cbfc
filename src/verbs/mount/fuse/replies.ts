import type { ByteString } from '../../../core/util/byte-string.ts';
import { bytesOf } from '../../../core/util/byte-string.ts';
import { ATTRIBUTES_BYTES, BLOCK_BYTES, writeAttributes, writeInode, writeUint64 } from './attributes.ts';
import type { FuseAttributes, InodeNumber } from './attributes.ts';
import { OUT_HEADER_BYTES, PROTOCOL_MAJOR } from './protocol.ts';

/** The answer to a lookup. */
export interface FuseEntry {
  readonly nodeId: number;
  /** For how long the kernel may use the name without asking again. */
  readonly nameSeconds: number;
  /** The same for the attributes. */
  readonly validSeconds: number;
  readonly attributes: FuseAttributes;
}

/** What is known of an entry of a directory without its attributes. */
export interface DirectoryEntry {
  readonly name: ByteString;
  readonly inode: InodeNumber;
  /** As in `FuseAttributes`; only the type matters. */
  readonly mode: number;
}

interface InitReply {
  readonly minor: number;
  readonly maxReadAheadBytes: number;
  readonly flags: number;
  /** How many requests for read-ahead the kernel may have open. */
  readonly maxBackground: number;
}

const ENTRY_BYTES = 40 + ATTRIBUTES_BYTES;
const DIRENT_BYTES = 24;
const INIT_REPLY_BYTES = 64;
const STATFS_BYTES = 80;
/** A reply is at most as long as what the kernel asks for, and those lengths are 128 KiB or less. */
const BUFFER_BYTES = 256 * 1024;
/** The kernel requires at least this much. */
const MAX_WRITE_BYTES = 4096;
const NAME_BYTES_MAX = 255;

/** Writes the header of a reply of the given number of bytes. `errno` 0 means success. */
export function writeReplyHeader(target: Buffer, lengthBytes: number, errno: number, unique: bigint): void {
  target.writeUInt32LE(lengthBytes, 0);
  target.writeInt32LE(-errno, 4);
  target.writeBigUInt64LE(unique, 8);
}

/** Encodes replies, all into the same memory: each must be sent before the next one is encoded. */
export class ReplyEncoder {
  readonly #buffer: Buffer = Buffer.alloc(BUFFER_BYTES);
  #end = OUT_HEADER_BYTES;

  failure(unique: bigint, errno: number): Uint8Array {
    this.#end = OUT_HEADER_BYTES;
    return this.#finish(unique, errno);
  }

  /** Success without further data. */
  empty(unique: bigint): Uint8Array {
    return this.failure(unique, 0);
  }

  init(unique: bigint, { minor, maxReadAheadBytes, flags, maxBackground }: InitReply): Uint8Array {
    const at = this.#begin(INIT_REPLY_BYTES);
    const target = this.#buffer;
    target.writeUInt32LE(PROTOCOL_MAJOR, at);
    target.writeUInt32LE(minor, at + 4);
    target.writeUInt32LE(maxReadAheadBytes, at + 8);
    target.writeUInt32LE(flags, at + 12);
    target.writeUInt16LE(maxBackground, at + 16);
    target.writeUInt16LE(Math.ceil((maxBackground * 3) / 4), at + 18);
    target.writeUInt32LE(MAX_WRITE_BYTES, at + 20);
    // Times have a granularity of 1 ns.
    target.writeUInt32LE(1, at + 24);
    return this.#finish(unique);
  }

  entry(unique: bigint, entry: FuseEntry): Uint8Array {
    writeEntry(this.#buffer, this.#begin(ENTRY_BYTES), entry);
    return this.#finish(unique);
  }

  /** The name does not exist, and the kernel may remember that. */
  absent(unique: bigint, nameSeconds: number): Uint8Array {
    this.#buffer.writeUInt32LE(nameSeconds, this.#begin(ENTRY_BYTES) + 16);
    return this.#finish(unique);
  }

  attributes(unique: bigint, { attributes, validSeconds }: Omit<FuseEntry, 'nodeId' | 'nameSeconds'>): Uint8Array {
    const at = this.#begin(16 + ATTRIBUTES_BYTES);
    this.#buffer.writeUInt32LE(validSeconds, at);
    writeAttributes(this.#buffer, at + 16, attributes);
    return this.#finish(unique);
  }

  opened(unique: bigint, handle: number, flags: number): Uint8Array {
    const at = this.#begin(16);
    writeUint64(this.#buffer, at, handle);
    this.#buffer.writeUInt32LE(flags, at + 8);
    return this.#finish(unique);
  }

  bytes(unique: bigint, bytes: Uint8Array): Uint8Array {
    this.#buffer.set(bytes, this.#begin(bytes.length));
    return this.#finish(unique);
  }

  /** How long an extended attribute or the list of them is. */
  length(unique: bigint, lengthBytes: number): Uint8Array {
    this.#buffer.writeUInt32LE(lengthBytes, this.#begin(8));
    return this.#finish(unique);
  }

  offset(unique: bigint, offset: number): Uint8Array {
    writeUint64(this.#buffer, this.#begin(8), offset);
    return this.#finish(unique);
  }

  /** A file system without free space. */
  statistics(unique: bigint): Uint8Array {
    const at = this.#begin(STATFS_BYTES);
    this.#buffer.writeUInt32LE(BLOCK_BYTES, at + 40);
    this.#buffer.writeUInt32LE(NAME_BYTES_MAX, at + 44);
    this.#buffer.writeUInt32LE(BLOCK_BYTES, at + 48);
    return this.#finish(unique);
  }

  /** Begins the entries of a directory. */
  beginList(): void {
    this.#end = OUT_HEADER_BYTES;
  }

  /** The length of the list of entries with this one more. */
  listBytesWith({ name }: DirectoryEntry, withAttributes: boolean): number {
    return this.#end - OUT_HEADER_BYTES + alignedBytes(name.length) + (withAttributes ? ENTRY_BYTES : 0);
  }

  /**
   * Adds an entry. `nextOffset` is where a later request continues after it. With attributes, `known` is the answer to a
   * lookup of the name; an entry without one (`.` and `..`) has zeros there.
   */
  addToList(
    { name, inode, mode }: DirectoryEntry,
    nextOffset: number,
    withAttributes: boolean,
    known?: FuseEntry,
  ): void {
    if (withAttributes) {
      const at = this.#append(ENTRY_BYTES);
      if (known !== undefined) writeEntry(this.#buffer, at, known);
    }
    const at = this.#append(alignedBytes(name.length));
    writeInode(this.#buffer, at, inode);
    writeUint64(this.#buffer, at + 8, nextOffset);
    this.#buffer.writeUInt32LE(name.length, at + 16);
    this.#buffer.writeUInt32LE((mode & 0o170000) >> 12, at + 20);
    this.#buffer.set(bytesOf(name), at + DIRENT_BYTES);
  }

  list(unique: bigint): Uint8Array {
    return this.#finish(unique);
  }

  #begin(bodyBytes: number): number {
    this.#end = OUT_HEADER_BYTES;
    return this.#append(bodyBytes);
  }

  #append(lengthBytes: number): number {
    const at = this.#end;
    this.#end += lengthBytes;
    if (this.#end > BUFFER_BYTES) throw new RangeError('the reply is longer than any request allows');
    this.#buffer.fill(0, at, this.#end);
    return at;
  }

  #finish(unique: bigint, errno = 0): Uint8Array {
    writeReplyHeader(this.#buffer, this.#end, errno, unique);
    return this.#buffer.subarray(0, this.#end);
  }
}

/** Entries start at multiples of 8 bytes. */
function alignedBytes(nameBytes: number): number {
  return (DIRENT_BYTES + nameBytes + 7) & ~7;
}

function writeEntry(target: Buffer, at: number, entry: FuseEntry): void {
  const { nodeId, nameSeconds, validSeconds, attributes } = entry;
  writeUint64(target, at, nodeId);
  target.writeUInt32LE(nameSeconds, at + 16);
  target.writeUInt32LE(validSeconds, at + 24);
  writeAttributes(target, at + 40, attributes);
}
