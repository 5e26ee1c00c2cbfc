import { closeSync, readSync } from 'node:fs';
import { SourceError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { errnoOf, sourceError } from './path-failures.ts';
import { openSource } from './source-files.ts';
import { readMetadataOf } from './source-metadata.ts';
import type { SourceMetadata } from './source-metadata.ts';

/** What tells a file from another, and from itself after a change. */
export type FileIdentity = Pick<
  SourceMetadata,
  | 'inode'
  | 'device'
  | 'sizeBytes'
  | 'mtimeSeconds'
  | 'mtimeNanoseconds'
  | 'ctimeSeconds'
  | 'ctimeNanoseconds'
  // Decides how it may be opened.
  | 'uid'
>;

/** A file as a directory listed it; as much as reading it takes. */
export interface ListedFile {
  readonly path: ByteString;
  readonly metadata: FileIdentity;
}

/** A file with all that its directory says of it. */
export interface SourceFile extends ListedFile {
  readonly metadata: SourceMetadata;
}

/** The system reads less than 2 GiB at a time. */
const READ_BYTES_MAX = 2 ** 30;
/** A file that has grown by more than this since it was listed may be growing as fast as it is read. */
const GROWTH_BYTES_MAX = 64 * 1024 * 1024;

/** A file being read, from its start to its end. Whatever the system refuses is a `SourceError`. */
export class SourceStream {
  isAtEnd = false;
  sizeBytes = 0;
  readonly #listed: ListedFile;
  readonly #descriptor: number;
  /** Where to leave a file that grows, or it might never end. */
  #endBytes: number | undefined;

  constructor(listed: ListedFile) {
    this.#listed = listed;
    this.#descriptor = openSource(listed.path, listed.metadata.uid);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** What it is now. The name may stand for something else by now, such as a device that could be read for ever. */
  assertSame(): SourceMetadata {
    const { path, metadata } = this.#listed;
    const found = readMetadataOf(this.#descriptor, path);
    if (found.type === 'file' && found.inode === metadata.inode && found.device === metadata.device) return found;
    const { message } = sourceError({ operation: 'read', path, cause: 'it was replaced by another file' });
    throw new SwappedError(message, { path });
  }

  /** Reads on into `buffer` from `end` until it is full or the file is at its end; returns the new end. */
  fill(buffer: Uint8Array, end: number): number {
    try {
      while (!this.isAtEnd && end < buffer.length) {
        const wanted = Math.min(buffer.length - end, this.#restBytesMax());
        const count = wanted <= 0 ? 0 : readSync(this.#descriptor, buffer, end, wanted, null);
        end += count;
        this.sizeBytes += count;
        // Only FUSE gives less than was asked for before the end; where the size agrees too, a last read is saved.
        this.isAtEnd = count === 0 || (count < wanted && this.sizeBytes === this.#listed.metadata.sizeBytes);
      }
      return end;
    } catch (cause) {
      // Only what the system answers is about the source; anything else is a fault of the program.
      if (errnoOf(cause) === undefined || cause instanceof RangeError || cause instanceof TypeError) throw cause;
      throw sourceError({ operation: 'read', path: this.#listed.path, cause });
    }
  }

  #restBytesMax(): number {
    const { path, metadata } = this.#listed;
    const hasGrown = this.sizeBytes >= metadata.sizeBytes + GROWTH_BYTES_MAX;
    if (hasGrown && this.#endBytes === undefined) {
      const { sizeBytes } = readMetadataOf(this.#descriptor, path);
      // Some FUSE file systems say 0, whatever they give.
      this.#endBytes = sizeBytes > this.sizeBytes ? sizeBytes : Infinity;
    }
    return Math.min(READ_BYTES_MAX, (this.#endBytes ?? Infinity) - this.sizeBytes);
  }
}

/** A program that replaces files by renaming new ones over them: the name holds a whole file all the time. */
export class SwappedError extends SourceError {}

/** Whether nobody wrote to a file between two looks at it. */
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
 * Whether all of a file is in `target` now, and the file still what was listed. `target` has a byte more than the file
 * is long, so that a file that has grown is told from one that has not.
 */
export function readAsListed(listed: ListedFile, target: Uint8Array): boolean {
  let stream: SourceStream | undefined;
  try {
    stream = new SourceStream(listed);
    stream.fill(target, 0);
    if (!stream.isAtEnd || stream.sizeBytes !== listed.metadata.sizeBytes) return false;
    return isUnchanged(listed.metadata, stream.assertSame());
  } catch (error) {
    if (error instanceof SourceError) return false;
    throw error;
  } finally {
    stream?.close();
  }
}
