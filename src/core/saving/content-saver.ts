import assert from 'node:assert/strict';
import { cutBeforeEnd } from '../chunking/chunker.ts';
import type { Chunker } from '../chunking/chunker.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { isZero } from '../format/tar/archive-input.ts';
import type { Repository } from '../repository/repository.ts';
import type { Pacer } from '../util/pacer.ts';
import type { BackupTally } from './backup-tally.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { ChunkSaver } from './chunk-saver.ts';

/** The bytes of a file, to be read from start to end. */
interface ContentSource {
  /** Whether all bytes were read. */
  readonly isAtEnd: boolean;
  /** Number of bytes that were read. */
  readonly sizeBytes: number;
  /** Reads into `buffer` from offset `end` until the buffer is full or the content ends. Returns the new end offset. */
  fill(buffer: Uint8Array, end: number): number | Promise<number>;
  /** Number of zeros that certainly come next, such as in a hole. Default: none are known. */
  readonly zerosAhead?: number;
  /** Skips this number of them, as if they had been read. */
  skipZeros?(lengthBytes: number): void;
}

/** Of all contents together: their ids take 160 MiB of memory. With the default chunks, these are holes of 32 TiB. */
const REPEATED_CHUNKS_MAX = 2 ** 23;

/** A hole has more chunks than can be recorded. */
export class HoleTooLargeError extends Error {}

export interface SavedContent {
  /** 20 bytes per chunk. */
  readonly chunkIds: Uint8Array;
  readonly sizeBytes: number;
}

/** A small content that was stored synchronously. */
export interface StoredContent extends SavedContent {
  /** If set, the caller must wait for it before the next file. */
  readonly full: Promise<void> | undefined;
}

/** Cuts the contents of files into chunks and passes the chunks to a chunk saver. */
export class ContentSaver {
  readonly #chunker: Chunker;
  readonly #hasher: Repository['hasher'];
  readonly #chunks: ChunkSaver;
  readonly #pacer: Pacer;
  readonly #tally: Pick<BackupTally, 'addBytes'>;
  #repeatedCount = 0;

  constructor(options: {
    readonly chunker: Chunker;
    readonly hasher: Repository['hasher'];
    readonly chunks: ChunkSaver;
    readonly pacer: Pacer;
    readonly tally: Pick<BackupTally, 'addBytes'>;
  }) {
    this.#chunker = options.chunker;
    this.#hasher = options.hasher;
    this.#chunks = options.chunks;
    this.#pacer = options.pacer;
    this.#tally = options.tally;
  }

  /** Reads a content through the chunker's buffer: fills it, cuts chunks, and moves the remaining bytes to the front. */
  async save(source: ContentSource): Promise<SavedContent> {
    const { buffer, minSizeBytes } = this.#chunker;
    let start = 0;
    let end = await source.fill(buffer, 0);
    if (source.isAtEnd && end <= minSizeBytes) {
      const bytes = buffer.subarray(0, end);
      const stored = this.saveWhole(bytes, this.#hasher.dataId(bytes));
      await stored.full;
      return stored;
    }
    const queue = new ChunkQueue(this.#chunks);
    const ids: Uint8Array[] = [];
    const onStored = (id: Uint8Array): void => void ids.push(id);
    let cutBytes = 0;
    try {
      while (end > start) {
        for (let length = this.#cut(source, start, end); length > 0; length = this.#cut(source, start, end)) {
          await queue.append(buffer.subarray(start, start + length), onStored);
          this.#tally.addBytes(length);
          start += length;
          cutBytes += length;
          const count = this.#repeatsAhead(source, start - length, start, end);
          if (count > 0) {
            await queue.finish();
            ids.push(Buffer.alloc(count * CHUNK_ID_BYTES, ids.at(-1)));
            source.skipZeros!(count * length);
            this.#tally.addBytes(count * length);
            cutBytes += count * length;
          }
          const pause = this.#pacer.pause();
          if (pause !== undefined) await pause;
        }
        buffer.copyWithin(0, start, end);
        end = await source.fill(buffer, end - start);
        start = 0;
      }
      assert(cutBytes === source.sizeBytes, 'the chunks of a file do not add up to its size');
      await queue.finish();
      return { chunkIds: Buffer.concat(ids), sizeBytes: source.sizeBytes };
    } finally {
      queue.dispose();
    }
  }

  /**
   * Returns how many chunks like the one that was cut come next: in a run of zeros, each cut is like the last one until
   * the end of the run matters. A hole is thus hashed once, however large it is. Throws HoleTooLargeError.
   */
  #repeatsAhead({ zerosAhead = 0 }: ContentSource, chunkStart: number, chunkEnd: number, end: number): number {
    const { buffer, maxSizeBytes } = this.#chunker;
    if (zerosAhead < 2 * maxSizeBytes || !isZero(buffer.subarray(chunkStart, end))) return 0;
    const count = Math.floor((zerosAhead - maxSizeBytes) / (chunkEnd - chunkStart));
    if (this.#repeatedCount + count > REPEATED_CHUNKS_MAX) throw new HoleTooLargeError('its holes are too large');
    this.#repeatedCount += count;
    return count;
  }

  /** Returns the length of the next chunk. Returns 0 at the end, or if more bytes are needed to find the cut. */
  #cut({ isAtEnd }: ContentSource, start: number, end: number): number {
    if (start === end) return 0;
    return isAtEnd ? this.#chunker.cut(start, end) : (cutBeforeEnd(this.#chunker, start, end) ?? 0);
  }

  /** Stores a content that is a single chunk, unless it is empty. */
  saveWhole(bytes: Uint8Array, id: Uint8Array): StoredContent {
    if (bytes.length === 0) return { chunkIds: new Uint8Array(), sizeBytes: 0, full: undefined };
    const full = this.#chunks.put('data', id, bytes);
    this.#tally.addBytes(bytes.length);
    return { chunkIds: id, sizeBytes: bytes.length, full };
  }
}
