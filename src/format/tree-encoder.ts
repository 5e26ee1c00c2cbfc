import assert from 'node:assert/strict';
import type { ByteString } from '../util/byte-string.ts';
import { bufferOver } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { TREE_HEADER_BYTES, TREE_MAGIC, TREE_OWNER_BYTES, TREE_VERSION } from './constants.ts';
import { entryBytes, findProblem, writeEntry } from './tree-entry-encoder.ts';
import type { TreeEntry } from './tree-entry.ts';

// oxlint-disable-next-line no-control-regex -- a control character is a legal byte of a name
const OWNER_NAME = /^[\u0001-\u00ff]{0,255}$/;
/** Number of entries that are kept as objects before they are encoded together. */
const BATCH_ENTRIES = 128;

let batchMemory = Buffer.allocUnsafeSlow(64 * 1024);

/** Returns at least `sizeBytes` of memory for the tree of a large directory. */
export type AllocateTree = (sizeBytes: number) => Buffer;

/** An encoded tree. */
export interface EncodedTree {
  readonly bytes: Buffer;
  /** The memory allocated for the tree, which starts with `bytes`; undefined if none was allocated. */
  readonly memory: Buffer | undefined;
}

/** Encodes a directory. Equal entries give equal bytes. The entries must be sorted by the bytes of their names. */
export function encodeTree(entries: readonly TreeEntry[]): Buffer {
  const encoder = new TreeEncoder();
  for (const entry of entries) encoder.add(entry);
  return encoder.finish().bytes;
}

/**
 * Encodes the entries of a directory in sequence, sorted by the bytes of their names. A large directory is encoded in
 * batches, because the objects take several times as much memory as the bytes. As long as the batches equal the
 * previous tree of the directory, their bytes are not kept either.
 */
export class TreeEncoder {
  readonly #owners = new OwnerTable();
  readonly #before: Buffer | undefined;
  readonly #allocate: AllocateTree;
  readonly #expectedBytes: number;
  #batch: TreeEntry[] = [];
  #lastName = '' as ByteString;
  #count = 0;
  /** Number of bytes encoded. They are in `#memory` from `#start` on, or else they equal the start of `#before`. */
  #encodedBytes = 0;
  #memory: Buffer | undefined;
  #start = 0;

  /** `before`: the verified tree of the directory in an earlier snapshot. `expectedBytes`: an estimate of the size. */
  constructor(
    options: { readonly before?: Uint8Array; readonly allocate?: AllocateTree; readonly expectedBytes?: number } = {},
  ) {
    this.#before = options.before === undefined ? undefined : bufferOver(options.before);
    this.#allocate = options.allocate ?? ((sizeBytes) => Buffer.allocUnsafeSlow(sizeBytes));
    this.#expectedBytes = options.expectedBytes ?? 0;
  }

  add(entry: TreeEntry): void {
    const problem =
      entry.name > this.#lastName ? findProblem(entry) : 'the entries are not sorted by name, or a name occurs twice';
    if (problem !== undefined) assert.fail(`${JSON.stringify(entry.name)}: ${problem}`);
    this.#lastName = entry.name;
    this.#batch.push(entry);
    if (this.#batch.length === BATCH_ENTRIES) this.#append(this.#encodeBatch());
  }

  /** Finishes the tree. If the directory is unchanged, the result is the memory given as `before`. */
  finish(): EncodedTree {
    const last = this.#encodeBatch();
    const header = this.#encodeHeader();
    if (this.#encodedBytes === 0) return { bytes: Buffer.concat([header, last]), memory: undefined };
    this.#append(last);
    if (this.#memory === undefined && this.#isBefore(header)) return { bytes: this.#before!, memory: undefined };
    const memory = this.#reserve(0);
    // Owners that were added after the memory was laid out need more room before the entries.
    const sizeBytes = header.length + this.#encodedBytes;
    const whole = sizeBytes <= memory.length ? memory : this.#allocate(sizeBytes);
    memory.copy(whole, header.length, this.#start, this.#start + this.#encodedBytes);
    header.copy(whole);
    return { bytes: whole.subarray(0, sizeBytes), memory: whole };
  }

  #isBefore(header: Buffer): boolean {
    const before = this.#before!;
    const isSameLength = header.length + this.#encodedBytes === before.length;
    return isSameLength && Buffer.compare(header, before.subarray(0, header.length)) === 0;
  }

  #append(batch: Buffer): void {
    if (this.#memory !== undefined || !this.#continuesBefore(batch)) {
      const memory = this.#reserve(batch.length);
      batch.copy(memory, this.#start + this.#encodedBytes);
    }
    this.#encodedBytes += batch.length;
  }

  #continuesBefore(batch: Buffer): boolean {
    if (this.#before === undefined) return false;
    const start = firstEntryOf(this.#before) + this.#encodedBytes;
    return Buffer.compare(batch, this.#before.subarray(start, start + batch.length)) === 0;
  }

  /** Returns memory that contains all encoded entries and has room for `moreBytes`. */
  #reserve(moreBytes: number): Buffer {
    const memory = this.#memory;
    const endBytes = (memory === undefined ? this.#headerBytes() : this.#start) + this.#encodedBytes + moreBytes;
    if (memory !== undefined && endBytes <= memory.length) return memory;
    const larger = this.#allocate(Math.max(endBytes, memory === undefined ? this.#expectedBytes : 2 * memory.length));
    if (memory === undefined) {
      this.#start = this.#headerBytes();
      const start = this.#before === undefined ? 0 : firstEntryOf(this.#before);
      this.#before?.copy(larger, this.#start, start, start + this.#encodedBytes);
    } else {
      memory.copy(larger, 0, 0, this.#start + this.#encodedBytes);
    }
    this.#memory = larger;
    return larger;
  }

  /** Returns bytes that are valid until the next call, including calls on other encoders. */
  #encodeBatch(): Buffer {
    const entries = this.#batch;
    const sizeBytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
    if (sizeBytes > batchMemory.length) batchMemory = Buffer.allocUnsafeSlow(2 * sizeBytes);
    const writer = new ByteWriter(sizeBytes, batchMemory.subarray(0, sizeBytes));
    for (const entry of entries) writeEntry(writer, entry, this.#owners.indexOf(entry));
    this.#count += entries.length;
    this.#batch = [];
    return writer.finish();
  }

  #headerBytes(): number {
    return TREE_HEADER_BYTES + this.#owners.sizeBytes;
  }

  #encodeHeader(): Buffer {
    const writer = new ByteWriter(this.#headerBytes());
    writer.u32(TREE_MAGIC);
    writer.u16(TREE_VERSION);
    writer.u16(0);
    writer.u32(this.#owners.list.length);
    writer.u32(this.#count);
    for (const owner of this.#owners.list) writeOwner(writer, owner);
    return writer.finish();
  }
}

/** Offset of the first entry of a tree. */
function firstEntryOf(tree: Buffer): number {
  let offset = TREE_HEADER_BYTES;
  for (let left = tree.readUInt32LE(8); left > 0; left--) {
    offset += TREE_OWNER_BYTES + tree[offset + 8]! + tree[offset + 9]!;
  }
  return offset;
}

type Owner = Pick<TreeEntry, 'uid' | 'gid' | 'user' | 'group'>;

/** The distinct owners in the order of first use. */
class OwnerTable {
  readonly list: Owner[] = [];
  /** Created on demand, because 100,000 nested directories can be open at a time. */
  #indexes: Map<string, number> | undefined;
  #last = -1;
  sizeBytes = 0;

  indexOf(owner: Owner): number {
    const last = this.list[this.#last];
    if (last === undefined || !isSameOwner(last, owner)) this.#last = this.#find(owner);
    return this.#last;
  }

  #find(owner: Owner): number {
    const key = `${owner.uid}:${owner.gid}:${owner.user.length}:${owner.user}${owner.group}`;
    this.#indexes ??= new Map();
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    assert(OWNER_NAME.test(owner.user) && OWNER_NAME.test(owner.group), 'owner names have at most 255 bytes');
    this.#indexes.set(key, this.list.length);
    this.sizeBytes += TREE_OWNER_BYTES + owner.user.length + owner.group.length;
    return this.list.push(owner) - 1;
  }
}

function isSameOwner(left: Owner, right: Owner): boolean {
  return left.uid === right.uid && left.gid === right.gid && left.user === right.user && left.group === right.group;
}

function writeOwner(writer: ByteWriter, owner: Owner): void {
  writer.u32(owner.uid);
  writer.u32(owner.gid);
  writer.u8(owner.user.length);
  writer.u8(owner.group.length);
  writer.latin1(owner.user);
  writer.latin1(owner.group);
}
