import assert from 'node:assert/strict';
import { cutBeforeEnd, zeroChunksIn } from '../chunking/chunker.ts';
import type { Chunker } from '../chunking/chunker.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { isZero } from '../util/zero-bytes.ts';
import type { Repository } from '../repository/repository.ts';
import type { Pacer } from '../util/pacer.ts';
import type { BackupTally } from './backup-tally.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { Split } from './chunk-queue.ts';
import type { ChunkSaver, HashingChunk } from './chunk-saver.ts';
import type { ChunkSplitter, Splitting } from './chunk-splitter.ts';

/** The bytes of a file, to be read from start to end. */
export interface ContentSource {
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
  /** Whether some of its chunks were split. */
  readonly isSplit?: boolean;
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
  readonly #splitter: ChunkSplitter | undefined;
  #repeatedCount = 0;

  constructor(options: {
    readonly chunker: Chunker;
    readonly hasher: Repository['hasher'];
    readonly chunks: ChunkSaver;
    readonly pacer: Pacer;
    readonly tally: Pick<BackupTally, 'addBytes'>;
    readonly splitter?: ChunkSplitter | undefined;
  }) {
    this.#chunker = options.chunker;
    this.#hasher = options.hasher;
    this.#chunks = options.chunks;
    this.#pacer = options.pacer;
    this.#tally = options.tally;
    this.#splitter = options.splitter;
  }

  /**
   * Reads a content through the chunker's buffer: fills it, cuts chunks, and moves the remaining bytes to the front.
   * `splitting`: by default, no chunk is split.
   */
  async save(source: ContentSource, splitting?: Splitting): Promise<SavedContent> {
    const { buffer, minSizeBytes } = this.#chunker;
    let start = 0;
    let end = await source.fill(buffer, 0);
    if (source.isAtEnd && end <= minSizeBytes) {
      const bytes = buffer.subarray(0, end);
      const stored = this.saveWhole(bytes, this.#hasher.dataId(bytes));
      await stored.full;
      return stored;
    }
    const splitter = this.#splitter;
    const split = splitting && splitter && (async (chunk: HashingChunk) => splitter.put(chunk, splitting));
    const content = new CutContent(this.#chunks, this.#tally, split);
    try {
      while (end > start) {
        for (;;) {
          const pause = this.#pacer.pause();
          if (pause !== undefined) await pause;
          const repeated = zeroChunksIn(this.#chunker, start, end, content.zeroChunkBytes);
          if (repeated > 0) {
            await content.repeatZeros(repeated + this.#skipZeros(source, start, end, content.zeroChunkBytes));
            start += repeated * content.zeroChunkBytes;
          }
          const length = this.#cut(source, start, end);
          if (length === 0) break;
          await content.append(buffer.subarray(start, start + length));
          start += length;
        }
        buffer.copyWithin(0, start, end);
        end = await source.fill(buffer, end - start);
        start = 0;
      }
      return await content.finish(source.sizeBytes);
    } finally {
      content.dispose();
    }
  }

  /**
   * Skips zeros that certainly come after those in the buffer, and returns how many chunks they are.
   * @throws HoleTooLargeError
   */
  #skipZeros(source: ContentSource, start: number, end: number, lengthBytes: number): number {
    const { buffer, maxSizeBytes } = this.#chunker;
    const { zerosAhead = 0 } = source;
    if (zerosAhead < 2 * maxSizeBytes || !isZero(buffer.subarray(start, end))) return 0;
    const count = Math.floor((zerosAhead - maxSizeBytes) / lengthBytes);
    if (this.#repeatedCount + count > REPEATED_CHUNKS_MAX) throw new HoleTooLargeError('its holes are too large');
    this.#repeatedCount += count;
    source.skipZeros!(count * lengthBytes);
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

/** The chunks of a content that is being cut, in order. */
class CutContent {
  readonly #queue: ChunkQueue;
  readonly #tally: Pick<BackupTally, 'addBytes'>;
  readonly #ids: Uint8Array[] = [];
  #sizeBytes = 0;
  /** Length of a chunk of zeros in it; 0 if it has none. */
  #zeroChunkBytes = 0;
  #zeroId: Uint8Array | undefined;
  #isSplit = false;

  constructor(chunks: ChunkSaver, tally: Pick<BackupTally, 'addBytes'>, split: Split | undefined) {
    this.#queue = new ChunkQueue(chunks, split);
    this.#tally = tally;
  }

  get zeroChunkBytes(): number {
    return this.#zeroChunkBytes;
  }

  /** Copies the bytes. */
  async append(bytes: Uint8Array): Promise<void> {
    const isFirstOfZeros = this.#zeroChunkBytes === 0 && isZero(bytes);
    if (isFirstOfZeros) this.#zeroChunkBytes = bytes.length;
    await this.#queue.append(bytes, (ids) => {
      if (isFirstOfZeros) this.#zeroId = ids;
      if (ids.length > CHUNK_ID_BYTES) this.#isSplit = true;
      this.#ids.push(ids);
    });
    this.#add(bytes.length);
  }

  /** Appends chunks like the first one of zeros. */
  async repeatZeros(count: number): Promise<void> {
    await this.#queue.finish();
    // Without one, the memory would be zeros, which is an id of nothing.
    assert(this.#zeroId !== undefined, 'a repeated chunk has no id');
    this.#ids.push(Buffer.alloc(count * CHUNK_ID_BYTES, this.#zeroId));
    this.#add(count * this.#zeroChunkBytes);
  }

  async finish(sizeBytes: number): Promise<SavedContent> {
    assert(this.#sizeBytes === sizeBytes, 'the chunks of a file do not add up to its size');
    await this.#queue.finish();
    return { chunkIds: Buffer.concat(this.#ids), sizeBytes, isSplit: this.#isSplit };
  }

  /** Discards what is not stored yet. */
  dispose(): void {
    this.#queue.dispose();
  }

  #add(lengthBytes: number): void {
    this.#sizeBytes += lengthBytes;
    this.#tally.addBytes(lengthBytes);
  }
}
