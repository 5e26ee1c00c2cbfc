import { statfsSync } from 'node:fs';
import { closeSync, readSync } from 'node:fs';
import { SourceError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { errnoOf, sourceError } from '../paths/path-failures.ts';
import { readAttributesOf, readHolesBefore } from './source-attributes.ts';
import type { SourceAttributes } from './source-attributes.ts';
import { openSource } from './source-files.ts';
import { readMetadataOf } from './source-metadata.ts';
import type { SourceMetadata } from './status-fields.ts';

/** The fields that identify a file and reveal changes to it. */
export type FileIdentity = Pick<
  SourceMetadata,
  | 'inode'
  | 'device'
  | 'sizeBytes'
  | 'allocatedBytes'
  | 'mtimeSeconds'
  | 'mtimeNanoseconds'
  | 'ctimeSeconds'
  | 'ctimeNanoseconds'
  // Decides how it may be opened.
  | 'uid'
>;

/** A file as it was listed, with the metadata needed to read it. */
export interface ListedFile {
  readonly path: ByteString;
  readonly metadata: FileIdentity;
}

/** A file with all its metadata. */
export interface SourceFile extends ListedFile {
  readonly metadata: SourceMetadata;
}

/** The system reads less than 2 GiB at a time. */
const READ_BYTES_MAX = 2 ** 30;
/** A file that has grown by this much since it was listed may be growing as fast as it is read. */
const GROWTH_BYTES_MAX = 64 * 1024 * 1024;
/** Some generated files are endless or claim 128 TB, like `/proc/kcore`. Useful ones are shorter than this. */
const GENERATED_BYTES_MAX = 32 * 1024 * 1024;

/** Reads a file from start to end. Throws `SourceError` if that fails. */
export class SourceStream {
  isAtEnd = false;
  sizeBytes = 0;
  readonly #listed: ListedFile;
  readonly #descriptor: number;
  readonly #holesBefore: Float64Array;
  /** Where to stop reading a file that is growing, because it might never end. */
  #endBytes: number | undefined;
  #isGenerated: boolean | undefined;

  constructor(listed: ListedFile) {
    this.#listed = listed;
    this.#descriptor = openSource(listed.path, listed.metadata.uid);
    this.#holesBefore = readHolesBefore(this.#descriptor, listed.metadata);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Whether the kernel generates the file on each read, so that its size is meaningless. */
  get isGenerated(): boolean {
    this.#isGenerated ??= isGenerated(this.#descriptor);
    return this.#isGenerated;
  }

  /** Reads the metadata again. Throws SwappedError if the name now belongs to a different file, such as a device. */
  assertSame(): SourceMetadata {
    const { path, metadata } = this.#listed;
    const found = readMetadataOf(this.#descriptor, path);
    if (found.type === 'file' && found.inode === metadata.inode && found.device === metadata.device) return found;
    const { message } = sourceError({ operation: 'read', path, cause: 'it was replaced by another file' });
    throw new SwappedError(message, { path });
  }

  /** Reads the attributes of the file, which must have been read to its end. `assertSame` then reveals changes. */
  attributes(): SourceAttributes {
    return readAttributesOf(this.#descriptor, this.#listed.metadata, this.#holesBefore);
  }

  /** Reads into `buffer` from offset `end` until the buffer is full or the file ends. Returns the new end offset. */
  fill(buffer: Uint8Array, end: number): number {
    try {
      while (!this.isAtEnd && end < buffer.length) {
        const wanted = Math.min(buffer.length - end, this.#restBytesMax());
        const count = wanted <= 0 ? 0 : readSync(this.#descriptor, buffer, end, wanted, null);
        end += count;
        this.sizeBytes += count;
        // Only FUSE returns less than requested before the end. If the size matches too, skip the final read.
        this.isAtEnd = count === 0 || (count < wanted && this.sizeBytes === this.#listed.metadata.sizeBytes);
      }
      return end;
    } catch (cause) {
      if (cause instanceof SourceError) throw cause;
      // A system error concerns the source. Any other error is a bug in this program.
      if (errnoOf(cause) === undefined || cause instanceof RangeError || cause instanceof TypeError) throw cause;
      throw sourceError({ operation: 'read', path: this.#listed.path, cause });
    }
  }

  #restBytesMax(): number {
    const { path, metadata } = this.#listed;
    if (Math.max(metadata.sizeBytes, this.sizeBytes) > GENERATED_BYTES_MAX && this.isGenerated) {
      throw sourceError({ operation: 'read', path, cause: 'the kernel generates it, and it has no reasonable end' });
    }
    const hasGrown = this.sizeBytes >= metadata.sizeBytes + GROWTH_BYTES_MAX;
    if (hasGrown && this.#endBytes === undefined) {
      const { sizeBytes } = readMetadataOf(this.#descriptor, path);
      // Some FUSE file systems report a size of 0 for every file.
      this.#endBytes = sizeBytes > this.sizeBytes ? sizeBytes : Infinity;
    }
    return Math.min(READ_BYTES_MAX, (this.#endBytes ?? Infinity) - this.sizeBytes);
  }
}

/** The name now belongs to a different file: a program has replaced it by renaming, as for an atomic update. */
export class SwappedError extends SourceError {}

/** Returns whether two readings of the metadata show no change to the file. */
export function isUnchanged(before: FileIdentity, after: FileIdentity): boolean {
  return (
    before.sizeBytes === after.sizeBytes &&
    before.mtimeSeconds === after.mtimeSeconds &&
    before.mtimeNanoseconds === after.mtimeNanoseconds &&
    before.ctimeSeconds === after.ctimeSeconds &&
    before.ctimeNanoseconds === after.ctimeNanoseconds
  );
}

/**
 * Reads a file into `target`, and returns its attributes. Returns undefined if the file or its attributes were not read
 * completely, or if it has changed since it was listed. `target` must have one byte more than the file, so that growth
 * is noticed.
 */
export function readAsListed(listed: ListedFile, target: Uint8Array): SourceAttributes | undefined {
  let stream: SourceStream | undefined;
  try {
    stream = new SourceStream(listed);
    stream.fill(target, 0);
    if (!stream.isAtEnd || stream.sizeBytes !== listed.metadata.sizeBytes) return undefined;
    const attributes = stream.attributes();
    if (attributes.unread.length > 0) return undefined;
    return isUnchanged(listed.metadata, stream.assertSame()) ? attributes : undefined;
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  } finally {
    stream?.close();
  }
}

/**
 * File systems whose files the kernel generates on each read (linux/magic.h): proc, sysfs, debugfs, tracefs,
 * securityfs, configfs, both versions of cgroup, bpf, pstore, selinuxfs, binfmt_misc, fusectl, nfsd and rpc_pipefs.
 */
const GENERATING = new Set([
  0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x62656570, 0x27e0eb, 0x63677270, 0xcafe4a11, 0x6165676c,
  0xf97cff8c, 0x42494e4d, 0x65735543, 0x6e667364, 0x67596969,
]);

/** Returns whether the kernel generates an open file on each read. The size of such a file is meaningless. */
function isGenerated(descriptor: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return GENERATING.has(statfsSync(`/proc/self/fd/${descriptor}`).type);
  } catch {
    // Without /proc, the file system cannot be determined, so the sizes of its files are trusted.
    return false;
  }
}
