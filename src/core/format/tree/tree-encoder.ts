import assert from 'node:assert/strict';
import { bufferOver } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import { TREE_HEADER_BYTES, TREE_MAGIC, TREE_OWNER_BYTES, TREE_VERSION } from '../constants.ts';
import { EncodedEntry } from './encoded-entry.ts';
import { OwnerTable } from './tree-owners.ts';
import { entryBytes, findProblem, writeEntry } from './tree-entry-encoder.ts';
import { ENTRY_OFFSETS } from './tree-entry.ts';
import type { TreeEntry } from './tree-entry.ts';

/** Number of entries that are kept as objects before they are encoded together. */
const BATCH_ENTRIES = 128;

const NO_BYTES = Buffer.alloc(0);

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
 * batches, because the objects take several times as much memory as the bytes. As long as the entries equal those of
 * the previous tree of the directory, their bytes are not kept either, and encoded entries are not copied.
 */
export class TreeEncoder {
  readonly #owners = new OwnerTable();
  readonly #before: Buffer | undefined;
  readonly #allocate: AllocateTree;
  readonly #expectedBytes: number;
  /** Whether all entries so far are those at the start of `#before`. */
  #isPrefix: boolean;
  #batch: TreeEntry[] = [];
  #last: TreeEntry | undefined;
  #count = 0;
  /** Number of bytes encoded. They are in `#memory`, or else in `#before`, from `#start` on. */
  #encodedBytes = 0;
  #memory: Buffer | undefined;
  #start: number;

  /** `before`: the verified tree of the directory in an earlier snapshot. `expectedBytes`: an estimate of the size. */
  constructor(
    options: { readonly before?: Uint8Array; readonly allocate?: AllocateTree; readonly expectedBytes?: number } = {},
  ) {
    this.#before = options.before === undefined ? undefined : bufferOver(options.before);
    this.#isPrefix = this.#before !== undefined;
    this.#start = this.#before === undefined ? 0 : firstEntryOf(this.#before);
    this.#allocate = options.allocate ?? ((sizeBytes) => Buffer.allocUnsafeSlow(sizeBytes));
    this.#expectedBytes = options.expectedBytes ?? 0;
  }

  add(entry: TreeEntry): void {
    if (entry instanceof EncodedEntry && this.#isPrefix && this.#isNextOfBefore(entry)) {
      this.#last = entry;
      this.#count += 1;
      this.#encodedBytes += entry.end - entry.start;
      return;
    }
    const isSorted = this.#last === undefined || entry.name > this.#last.name;
    const problem = isSorted ? problemOf(entry) : 'the entries are not sorted by name, or a name occurs twice';
    if (problem !== undefined) assert.fail(`${JSON.stringify(entry.name)}: ${problem}`);
    this.#last = entry;
    this.#batch.push(entry);
    if (this.#isPrefix) this.#comparePrefix(entry);
    if (this.#batch.length === BATCH_ENTRIES) this.#append(this.#encodeBatch());
  }

  /** Finishes the tree. If the directory is unchanged, the result is the memory given as `before`. */
  finish(): EncodedTree {
    const last = this.#encodeBatch();
    const header = this.#encodeHeader();
    if (last.length === 0 && this.#isBefore(header)) return { bytes: this.#before!, memory: undefined };
    if (this.#memory === undefined && this.#count <= BATCH_ENTRIES) {
      return { bytes: Buffer.concat([header, this.#prefix(), last]), memory: undefined };
    }
    this.#append(last);
    const memory = this.#memory!;
    // Owners that were added after the memory was laid out need more room before the entries.
    const sizeBytes = header.length + this.#encodedBytes;
    const whole = sizeBytes <= memory.length ? memory : this.#allocate(sizeBytes);
    memory.copy(whole, header.length, this.#start, this.#start + this.#encodedBytes);
    header.copy(whole);
    return { bytes: whole.subarray(0, sizeBytes), memory: whole };
  }

  /** Encodes the entries so far as a tree of their own. More may follow. */
  soFar(): Buffer {
    const last = this.#encode(this.#batch);
    const header = this.#encodeHeader(this.#count + this.#batch.length);
    const encoded = this.#memory?.subarray(this.#start, this.#start + this.#encodedBytes) ?? this.#prefix();
    return Buffer.concat([header, encoded, last]);
  }

  /** Whether the entry is the one of `#before` that follows the entries so far, and its owner has the same number. */
  #isNextOfBefore(entry: EncodedEntry): boolean {
    if (entry.bytes !== this.#before || entry.start !== this.#start + this.#encodedBytes) return false;
    return this.#owners.indexOf(entry.owner) === entry.bytes.readUInt32LE(entry.start + ENTRY_OFFSETS.owner);
  }

  /** Drops the only entry of the batch if it equals the next one of `#before`. */
  #comparePrefix(entry: TreeEntry): void {
    const bytes = this.#encodeBatch();
    const start = this.#start + this.#encodedBytes;
    this.#isPrefix = Buffer.compare(bytes, this.#before!.subarray(start, start + bytes.length)) === 0;
    if (this.#isPrefix) {
      this.#encodedBytes += bytes.length;
    } else {
      this.#batch.push(entry);
      this.#count -= 1;
    }
  }

  #prefix(): Buffer {
    return this.#before?.subarray(this.#start, this.#start + this.#encodedBytes) ?? NO_BYTES;
  }

  #isBefore(header: Buffer): boolean {
    const before = this.#before;
    if (!this.#isPrefix || before === undefined || header.length + this.#encodedBytes !== before.length) return false;
    return Buffer.compare(header, before.subarray(0, header.length)) === 0;
  }

  #append(batch: Buffer): void {
    const memory = this.#reserve(batch.length);
    batch.copy(memory, this.#start + this.#encodedBytes);
    this.#encodedBytes += batch.length;
  }

  /** Returns memory that contains all encoded entries and has room for `moreBytes`. */
  #reserve(moreBytes: number): Buffer {
    const memory = this.#memory;
    const endBytes = (memory === undefined ? this.#headerBytes() : this.#start) + this.#encodedBytes + moreBytes;
    if (memory !== undefined && endBytes <= memory.length) return memory;
    const larger = this.#allocate(Math.max(endBytes, memory === undefined ? this.#expectedBytes : 2 * memory.length));
    if (memory === undefined) {
      this.#prefix().copy(larger, this.#headerBytes());
      this.#start = this.#headerBytes();
    } else {
      memory.copy(larger, 0, 0, this.#start + this.#encodedBytes);
    }
    this.#memory = larger;
    return larger;
  }

  /** Returns bytes that are valid until the next call, including calls on other encoders. */
  #encodeBatch(): Buffer {
    const bytes = this.#encode(this.#batch);
    this.#count += this.#batch.length;
    this.#batch = [];
    return bytes;
  }

  #encode(entries: readonly TreeEntry[]): Buffer {
    const sizeBytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    if (sizeBytes > batchMemory.length) batchMemory = Buffer.allocUnsafeSlow(2 * sizeBytes);
    const writer = new ByteWriter(sizeBytes, batchMemory.subarray(0, sizeBytes));
    for (const entry of entries) {
      if (entry instanceof EncodedEntry) copyEntry(writer, entry, this.#owners.indexOf(entry.owner));
      else writeEntry(writer, entry, this.#owners.indexOf(entry));
    }
    return writer.finish();
  }

  #headerBytes(): number {
    return TREE_HEADER_BYTES + this.#owners.sizeBytes;
  }

  #encodeHeader(count = this.#count): Buffer {
    const writer = new ByteWriter(this.#headerBytes());
    writer.u32(TREE_MAGIC);
    writer.u16(TREE_VERSION);
    writer.u16(0);
    writer.u32(this.#owners.list.length);
    writer.u32(count);
    this.#owners.write(writer);
    return writer.finish();
  }
}

/** An encoded entry has been checked with its tree. */
function problemOf(entry: TreeEntry): string | undefined {
  return entry instanceof EncodedEntry ? undefined : findProblem(entry);
}

function bytesOf(entry: TreeEntry): number {
  return entry instanceof EncodedEntry ? entry.end - entry.start : entryBytes(entry);
}

/** The number of the owner is the only part of an entry that depends on the rest of the tree. */
function copyEntry(writer: ByteWriter, { bytes, start, end }: EncodedEntry, owner: number): void {
  const offset = writer.offset;
  writer.bytes(bytes.subarray(start, end));
  writer.buffer.writeUInt32LE(owner, offset + ENTRY_OFFSETS.owner);
}

/** Offset of the first entry of a tree. */
function firstEntryOf(tree: Buffer): number {
  let offset = TREE_HEADER_BYTES;
  for (let left = tree.readUInt32LE(8); left > 0; left--) {
    offset += TREE_OWNER_BYTES + tree[offset + 8]! + tree[offset + 9]!;
  }
  return offset;
}
