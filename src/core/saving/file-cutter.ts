import { closeSync, readSync } from 'node:fs';
import { zeroChunksIn } from '../chunking/chunker.ts';
import type { Chunker } from '../chunking/chunker.ts';
import type { Repository } from '../repository/repository.ts';
import { cutSmall } from '../chunking/small-chunks.ts';
import { chunkerOf, smallChunkerOf } from './chunker-of.ts';
import { sourceError } from '../files/paths/path-failures.ts';
import { openSource } from '../files/source/source-files.ts';
import { readMetadata } from '../files/source/source-metadata.ts';
import type { ByteString } from '../util/byte-string.ts';
import { isZero } from '../util/zero-bytes.ts';

/** One chunk of a file, as a backup would create it. */
interface FileChunk {
  readonly id: Uint8Array;
  readonly offset: number;
  readonly sizeBytes: number;
}

/**
 * Cuts files into chunks and computes their ids, as a backup to the repository would. A chunk that is not known is split if
 * a part of it is: of large files that kept changing, the repository may have only the small chunks.
 */
export class FileCutter {
  readonly #repository: Repository;
  readonly #chunker: Chunker;
  readonly #small: Chunker | undefined;

  constructor(repository: Repository) {
    this.#repository = repository;
    this.#chunker = chunkerOf(repository);
    this.#small = smallChunkerOf(repository);
  }

  /**
   * Cuts one file at a time. `isKnown`: whether a chunk comes next, or is anywhere, in what the file is compared with.
   * @throws SourceError
   */
  *chunks(path: ByteString, isKnown: (id: Uint8Array) => boolean): Generator<FileChunk> {
    const { hasher } = this.#repository;
    const { buffer, maxSizeBytes } = this.#chunker;
    const descriptor = openFile(path);
    try {
      let offset = 0;
      let start = 0;
      let end = fill(descriptor, { path, buffer, end: 0 });
      let zeros: Pick<FileChunk, 'id' | 'sizeBytes'> = { id: new Uint8Array(), sizeBytes: 0 };
      while (end > start) {
        // A buffer that is not full means that the file has ended.
        while (end > start && (end < buffer.length || end - start >= maxSizeBytes)) {
          const repeats = zeroChunksIn(this.#chunker, start, end, zeros.sizeBytes);
          for (let left = repeats; left > 0; left -= 1) {
            yield { ...zeros, offset };
            start += zeros.sizeBytes;
            offset += zeros.sizeBytes;
          }
          // Fewer bytes may be left than a cut needs.
          if (repeats > 0) continue;
          const bytes = buffer.subarray(start, start + this.#chunker.cut(start, end));
          const chunk = { id: hasher.dataId(bytes), sizeBytes: bytes.length };
          if (zeros.sizeBytes === 0 && isZero(bytes)) zeros = chunk;
          for (const { id, sizeBytes } of this.#split(bytes, chunk.id, isKnown) ?? [chunk]) {
            yield { id, sizeBytes, offset };
            offset += sizeBytes;
          }
          start += bytes.length;
        }
        buffer.copyWithin(0, start, end);
        end = fill(descriptor, { path, buffer, end: end - start });
        start = 0;
      }
    } finally {
      closeSync(descriptor);
    }
  }

  /** Returns undefined for a chunk that is known, or of which no part is. */
  #split(
    bytes: Uint8Array,
    whole: Uint8Array,
    isKnown: (id: Uint8Array) => boolean,
  ): Omit<FileChunk, 'offset'>[] | undefined {
    const { hasher } = this.#repository;
    if (this.#small === undefined || isKnown(whole) || isZero(bytes)) return undefined;
    const parts = [...cutSmall(this.#small, bytes)].map((part) => ({
      id: hasher.dataId(part),
      sizeBytes: part.length,
    }));
    return parts.some(({ id }) => isKnown(id)) ? parts : undefined;
  }
}

function openFile(path: ByteString): number {
  const { type } = readMetadata(path);
  // Reading a device or a FIFO might never end.
  if (type !== 'file') throw sourceError({ operation: 'cut', path, cause: `it is a ${type}, not a file` });
  return openSource(path);
}

/** Reads until the buffer is full or the file ends; returns the new end. */
function fill(descriptor: number, into: { path: ByteString; buffer: Uint8Array; end: number }): number {
  let { end } = into;
  try {
    while (end < into.buffer.length) {
      const count = readSync(descriptor, into.buffer, end, into.buffer.length - end, null);
      if (count === 0) break;
      end += count;
    }
    return end;
  } catch (cause) {
    throw sourceError({ operation: 'read', path: into.path, cause });
  }
}
