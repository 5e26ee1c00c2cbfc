import { closeSync, readSync } from 'node:fs';
import { SourceError } from '../../errors.ts';
import type { Chunker } from '../../chunking/chunker.ts';
import type { ChunkHasher } from '../../crypto/chunk-hasher.ts';
import { errnoOf, sourceError } from '../../files/path-failures.ts';
import { openSource } from '../../files/source-files.ts';
import { readMetadata, readMetadataOf } from '../../files/source-metadata.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { Pacer } from '../context.ts';
import type { BackupTally } from './backup-tally.ts';
import type { ChunkDepot } from './chunk-depot.ts';
import { ChunkRow } from './chunk-row.ts';

/** A file as it was stored. */
export interface SavedFile {
  /** As it was right after the last byte was read. */
  readonly metadata: SourceMetadata;
  readonly chunkIds: Uint8Array;
  readonly sizeBytes: number;
  readonly changedWhileRead: boolean;
}

/** The system reads less than 2 GiB at a time. */
const READ_BYTES_MAX = 2 ** 30;

/** A file that changes under our hands is read again this often before it is kept as it is. */
const ATTEMPTS_MAX = 3;

/** Reads files, cuts them into chunks and gives those to the depot. */
export class FileSaver {
  readonly #chunker: Chunker;
  readonly #hasher: ChunkHasher;
  readonly #depot: ChunkDepot;
  readonly #pacer: Pacer;
  readonly #tally: BackupTally;

  constructor(options: {
    readonly chunker: Chunker;
    readonly hasher: ChunkHasher;
    readonly depot: ChunkDepot;
    readonly pacer: Pacer;
    readonly tally: BackupTally;
  }) {
    this.#chunker = options.chunker;
    this.#hasher = options.hasher;
    this.#depot = options.depot;
    this.#pacer = options.pacer;
    this.#tally = options.tally;
  }

  /** Throws `SourceError` if the file cannot be read to its end; nothing of it is then in the snapshot. */
  async save(path: ByteString, listed: SourceMetadata): Promise<SavedFile> {
    let expected = listed;
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#readOnce(path, expected).catch(unlessSwapped);
      if (read instanceof SwappedError) {
        expected = readMetadata(path);
        if (expected.type !== 'file' || attempt === ATTEMPTS_MAX) throw read;
        continue;
      }
      const { metadata, chunkIds, sizeBytes } = read;
      const isWhole = isUnchanged(expected, metadata) && sizeBytes === metadata.sizeBytes;
      if (isWhole || attempt === ATTEMPTS_MAX) return { metadata, chunkIds, sizeBytes, changedWhileRead: !isWhole };
      expected = metadata;
    }
  }

  async #readOnce(path: ByteString, expected: SourceMetadata): Promise<Omit<SavedFile, 'changedWhileRead'>> {
    const descriptor = openSource(path, expected.uid);
    try {
      const source = new SourceFile(path, descriptor, expected);
      const { chunkIds, sizeBytes } = await this.#store(source);
      return { metadata: source.assertSame(), chunkIds, sizeBytes };
    } finally {
      closeSync(descriptor);
    }
  }

  /** Fills the chunker's buffer, cuts what is in it, and moves the rest to the front. */
  async #store(source: SourceFile): Promise<{ chunkIds: Uint8Array; sizeBytes: number }> {
    const { buffer, maxSizeBytes, minSizeBytes } = this.#chunker;
    let start = 0;
    let end = source.fill(buffer, 0);
    if (source.isAtEnd && end <= minSizeBytes) return await this.#storeSmall(buffer.subarray(0, end));
    source.assertSame();
    const row = new ChunkRow(this.#depot);
    try {
      while (end > start) {
        while (end > start && (source.isAtEnd || end - start >= maxSizeBytes)) {
          const bytes = buffer.subarray(start, start + this.#chunker.cut(start, end));
          await row.append(bytes);
          this.#pacer.throwIfAborted();
          this.#tally.addBytes(bytes.length);
          start += bytes.length;
        }
        buffer.copyWithin(0, start, end);
        end = source.fill(buffer, end - start);
        start = 0;
      }
      return { chunkIds: await row.finish(), sizeBytes: source.sizeBytes };
    } finally {
      row.dispose();
    }
  }

  async #storeSmall(bytes: Uint8Array): Promise<{ chunkIds: Uint8Array; sizeBytes: number }> {
    if (bytes.length === 0) return { chunkIds: bytes.slice(), sizeBytes: 0 };
    const id = this.#hasher.dataId(bytes);
    const full = this.#depot.put('data', id, bytes);
    if (full !== undefined) await full;
    this.#tally.addBytes(bytes.length);
    return { chunkIds: id, sizeBytes: bytes.length };
  }
}

/** A file being read, from its start to its end. */
class SourceFile {
  isAtEnd = false;
  sizeBytes = 0;
  readonly #path: ByteString;
  readonly #descriptor: number;
  readonly #expected: SourceMetadata;

  constructor(path: ByteString, descriptor: number, expected: SourceMetadata) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#expected = expected;
  }

  /** The name may stand for something else by now, such as a device that could be read for ever. */
  assertSame(): SourceMetadata {
    const found = readMetadataOf(this.#descriptor, this.#path);
    const { inode, device } = this.#expected;
    if (found.type === 'file' && found.inode === inode && found.device === device) return found;
    const { message, path } = sourceError({ operation: 'read', path: this.#path, cause: 'another file took its name' });
    throw new SwappedError(message, { path });
  }

  /** Reads on into `buffer` from `end` until it is full or the file is at its end; returns the new end. */
  fill(buffer: Uint8Array, end: number): number {
    try {
      while (!this.isAtEnd && end < buffer.length) {
        const wanted = Math.min(buffer.length - end, READ_BYTES_MAX);
        const count = readSync(this.#descriptor, buffer, end, wanted, null);
        end += count;
        this.sizeBytes += count;
        // Only FUSE gives less than was asked for before the end; where the size agrees too, a last read is saved.
        this.isAtEnd = count === 0 || (count < wanted && this.sizeBytes === this.#expected.sizeBytes);
      }
      return end;
    } catch (cause) {
      // Only what the system answers is about the source; anything else is a fault of the program.
      if (errnoOf(cause) === undefined || cause instanceof RangeError || cause instanceof TypeError) throw cause;
      throw sourceError({ operation: 'read', path: this.#path, cause });
    }
  }
}

/** A program that replaces files by renaming new ones over them: the name holds a whole file all the time. */
class SwappedError extends SourceError {}

function unlessSwapped(error: unknown): SwappedError {
  if (error instanceof SwappedError) return error;
  throw error;
}

function isUnchanged(before: SourceMetadata, after: SourceMetadata): boolean {
  return (
    before.sizeBytes === after.sizeBytes &&
    before.mtimeSeconds === after.mtimeSeconds &&
    before.mtimeNanoseconds === after.mtimeNanoseconds &&
    before.ctimeSeconds === after.ctimeSeconds &&
    before.ctimeNanoseconds === after.ctimeNanoseconds
  );
}
