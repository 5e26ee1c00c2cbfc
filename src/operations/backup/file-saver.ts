import type { Repository } from '../../repository/repository.ts';
import assert from 'node:assert/strict';
import { cutBeforeEnd } from '../../chunking/chunker.ts';
import type { Chunker } from '../../chunking/chunker.ts';
import { readMetadata } from '../../files/source-metadata.ts';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import { SourceStream, SwappedError, isUnchanged } from '../../files/source-stream.ts';
import type { SourceFile } from '../../files/source-stream.ts';
import type { Pacer } from '../context.ts';
import type { BackupTally } from './backup-tally.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { ChunkSaver } from './chunk-saver.ts';
import type { FileAhead, ReadAhead } from './read-ahead.ts';

/** A stored file. */
export interface SavedFile {
  /** The metadata right after the last byte was read. */
  readonly metadata: SourceMetadata;
  readonly chunkIds: Uint8Array;
  readonly sizeBytes: number;
  readonly changedWhileRead: boolean;
}

/** A small file that was stored synchronously. */
export interface StoredFile extends Pick<SavedFile, 'chunkIds' | 'sizeBytes'> {
  /** If set, the caller must wait for it before the next file. */
  readonly full: Promise<void> | undefined;
}

/** A single file of this size keeps several threads busy. */
const LARGE_FILE_BYTES = 64 * 1024 * 1024;
/** A file that keeps changing is read this many times. The last version read is kept. */
const ATTEMPTS_MAX = 3;

/** Reads files, cuts them into chunks and passes the chunks to a chunk saver. */
export class FileSaver {
  readonly #chunker: Chunker;
  readonly #ahead: ReadAhead;
  readonly #hasher: Repository['hasher'];
  readonly #threads: Pick<Repository['threads'], 'prepare'>;
  readonly #chunks: ChunkSaver;
  readonly #pacer: Pacer;
  readonly #tally: BackupTally;

  constructor(options: {
    readonly chunker: Chunker;
    readonly ahead: ReadAhead;
    readonly hasher: Repository['hasher'];
    readonly threads: Pick<Repository['threads'], 'prepare'>;
    readonly chunks: ChunkSaver;
    readonly pacer: Pacer;
    readonly tally: BackupTally;
  }) {
    this.#chunker = options.chunker;
    this.#ahead = options.ahead;
    this.#hasher = options.hasher;
    this.#threads = options.threads;
    this.#chunks = options.chunks;
    this.#pacer = options.pacer;
    this.#tally = options.tally;
  }

  /** Throws `SourceError` if the file cannot be read completely. The snapshot then has no entry for it. */
  async save(listed: SourceFile, ahead?: FileAhead): Promise<SavedFile> {
    if (ahead !== undefined) {
      const saved = await this.#storeAhead(listed, ahead);
      if (saved !== undefined) return saved;
    }
    let expected = listed;
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#readOnce(expected).catch(unlessSwapped);
      if (read instanceof SwappedError) {
        expected = { path: listed.path, metadata: readMetadata(listed.path) };
        if (expected.metadata.type !== 'file' || attempt === ATTEMPTS_MAX) throw read;
        continue;
      }
      if (!read.changedWhileRead || attempt === ATTEMPTS_MAX) return read;
    }
  }

  /** Stores a small file that has already been read. Returns undefined if the caller must use `save`. */
  saveAtHand(ahead: FileAhead): StoredFile | undefined {
    const whole = this.#ahead.atHand(ahead);
    if (whole === undefined) return undefined;
    try {
      return this.#storeWhole(whole.bytes, whole.chunkId);
    } finally {
      this.#ahead.release(ahead);
    }
  }

  /** Returns undefined if the file has to be read again. */
  async #storeAhead({ metadata }: SourceFile, ahead: FileAhead): Promise<SavedFile | undefined> {
    try {
      const whole = await this.#ahead.take(ahead);
      if (whole === undefined) return undefined;
      const { chunkIds, sizeBytes, full } = this.#storeWhole(whole.bytes, whole.chunkId);
      await full;
      return { metadata, changedWhileRead: false, chunkIds, sizeBytes };
    } finally {
      this.#ahead.release(ahead);
    }
  }

  async #readOnce(listed: SourceFile): Promise<SavedFile> {
    const source = new SourceStream(listed);
    if (listed.metadata.sizeBytes >= LARGE_FILE_BYTES) this.#threads.prepare();
    try {
      // The file may have been listed long ago. Only changes after the first byte was read matter.
      const before = source.assertSame();
      const { chunkIds, sizeBytes } = await this.#store(source);
      const metadata = source.assertSame();
      const isWhole = isUnchanged(before, metadata) && (sizeBytes === metadata.sizeBytes || source.isGenerated);
      return { metadata, chunkIds, sizeBytes, changedWhileRead: !isWhole };
    } finally {
      source.close();
    }
  }

  /** Reads the file through the chunker's buffer: fills it, cuts chunks, and moves the remaining bytes to the front. */
  async #store(source: SourceStream): Promise<{ chunkIds: Uint8Array; sizeBytes: number }> {
    const { buffer, minSizeBytes } = this.#chunker;
    let start = 0;
    let end = source.fill(buffer, 0);
    if (source.isAtEnd && end <= minSizeBytes) {
      const bytes = buffer.subarray(0, end);
      const stored = this.#storeWhole(bytes, this.#hasher.dataId(bytes));
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
        end = source.fill(buffer, end - start);
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
  #cut({ isAtEnd }: SourceStream, start: number, end: number): number {
    if (start === end) return 0;
    return isAtEnd ? this.#chunker.cut(start, end) : (cutBeforeEnd(this.#chunker, start, end) ?? 0);
  }

  #storeWhole(bytes: Uint8Array, id: Uint8Array): StoredFile {
    if (bytes.length === 0) return { chunkIds: new Uint8Array(), sizeBytes: 0, full: undefined };
    const full = this.#chunks.put('data', id, bytes);
    this.#tally.addBytes(bytes.length);
    return { chunkIds: id, sizeBytes: bytes.length, full };
  }
}

function unlessSwapped(error: unknown): SwappedError {
  if (error instanceof SwappedError) return error;
  throw error;
}
