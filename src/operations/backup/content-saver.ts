import assert from 'node:assert/strict';
import { cutBeforeEnd } from '../../chunking/chunker.ts';
import type { Chunker } from '../../chunking/chunker.ts';
import type { Repository } from '../../repository/repository.ts';
import type { Pacer } from '../context.ts';
import type { BackupTally } from './backup-tally.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { ChunkSaver } from './chunk-saver.ts';

/** The bytes of a file, to be read from start to end. */
export interface ContentSource {
  /** Whether all bytes were read. */
  readonly isAtEnd: boolean;
  /** Number of bytes that were read. */
  readonly sizeBytes: number;
  /** Reads into `buffer` from offset `end` until the buffer is full or the content ends. Returns the new end offset. */
  fill(buffer: Uint8Array, end: number): number | Promise<number>;
}

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
