import type { SourceAttributes } from '../../core/files/source/source-attributes.ts';
import type { ListedFile } from '../../core/files/source/source-stream.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { attributesAt } from '../../core/files/source/attribute-lists.ts';
import { BufferPool } from '../../core/store/buffer-pool.ts';

/** A longer file is worth a task of its own. */
const FILE_BYTES_MAX = 256 * 1024;
const BATCH_BYTES_MAX = 512 * 1024;
/** About 2 ms of work. Handing a batch to a thread costs 0.1 ms. */
const BATCH_FILES_MAX = 64;

type Threads = Pick<Repository['threads'], 'readFiles'>;
type Reading = ReturnType<Threads['readFiles']>;

/** A small file that is read before the backup stores it. */
export interface FileAhead {
  readonly batch: Batch;
  readonly index: number;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** The content of a small file, and its id as one chunk. */
interface WholeFile {
  readonly chunkId: Uint8Array;
  /** Valid until `release`. */
  readonly bytes: Uint8Array;
  readonly attributes: SourceAttributes;
}

/**
 * Reads small files in other threads before they are stored. A file costs 30 us of system calls and hashing, which is
 * most of the time of a backup of small files. Take files in the order in which they were offered.
 */
export class ReadAhead {
  readonly #threads: Threads;
  readonly #hasher: Repository['hasher'];
  readonly #pool = new BufferPool({ sizeBytesMin: BATCH_BYTES_MAX });
  readonly #fileBytesMax: number;
  #open: Batch | undefined;
  readonly #started = new Set<Batch>();
  readonly #waiting: Batch[] = [];
  /** So many of the batches that are started and not taken yet may be read at the same time. */
  readonly #readingMax: number;
  /** Maximum batches that are being read, or have been read and are not stored yet. */
  readonly #batchesMax: number;
  #readingCount = 0;
  #batchCount = 0;

  /**
   * `chunkBytesMin`: a file of at most this many bytes is one chunk. `filesAtOnce`: at most this many files are read at a
   * time, one of them by the caller. Default: as many as there are threads.
   */
  constructor(made: {
    readonly threads: Threads;
    readonly hasher: Repository['hasher'];
    readonly chunkBytesMin: number;
    readonly filesAtOnce?: number | undefined;
    /** How many batches keep the threads busy. */
    readonly atOnce: number;
  }) {
    this.#batchesMax = 2 * made.atOnce;
    this.#threads = made.threads;
    this.#hasher = made.hasher;
    this.#readingMax = (made.filesAtOnce ?? Infinity) - 1;
    this.#fileBytesMax = this.#readingMax > 0 ? Math.min(made.chunkBytesMin, FILE_BYTES_MAX) : -1;
  }

  get isFull(): boolean {
    return this.#batchCount >= this.#batchesMax;
  }

  /** Queues a file. Returns undefined if the file should be read only when it is stored. */
  offer(file: ListedFile): FileAhead | undefined {
    const { sizeBytes } = file.metadata;
    if (sizeBytes > this.#fileBytesMax) return undefined;
    if (this.#open?.hasRoomFor(sizeBytes) === false) this.#start(this.#open);
    if (this.#open === undefined) {
      this.#open = new Batch(this.#pool.take(BATCH_BYTES_MAX));
      this.#batchCount += 1;
    }
    return this.#open.add(file);
  }

  /** Returns undefined if the file changed or cannot be read; the caller reads it again and gets the error. */
  async take(file: FileAhead): Promise<WholeFile | undefined> {
    const { batch } = file;
    if (batch === this.#open) this.#start(batch);
    if (batch.reading === undefined) this.#read(batch);
    batch.found ??= await batch.reading!.result();
    this.#settle(batch);
    return this.atHand(file);
  }

  /** Like `take`, but synchronous. Also returns undefined if the file has not been read yet. */
  atHand({ batch, index, offset, sizeBytes }: FileAhead): WholeFile | undefined {
    if (batch.found?.isAsListed[index] !== 1) return undefined;
    return {
      chunkId: batch.found.chunkIds.subarray(index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES),
      bytes: batch.buffer.subarray(offset, offset + sizeBytes),
      attributes: attributesAt(batch.found.attributes, index),
    };
  }

  /** Call exactly once for each file, whether it was taken or not. */
  release({ batch }: FileAhead): void {
    batch.releasedCount += 1;
    if (batch.releasedCount < batch.files.length || batch === this.#open) return;
    this.#started.delete(batch);
    this.#pool.give(batch.buffer);
    this.#batchCount -= 1;
  }

  /** For a backup that ends early. When it returns, no thread reads any more. */
  async stop(): Promise<void> {
    await Promise.all([...this.#started].map(async ({ reading }) => reading?.drop()));
  }

  #start(batch: Batch): void {
    this.#open = undefined;
    this.#waiting.push(batch);
    this.#readWaiting();
  }

  #readWaiting(): void {
    while (this.#waiting.length > 0 && this.#readingCount < this.#readingMax) this.#read(this.#waiting[0]!);
  }

  #read(batch: Batch): void {
    this.#waiting.splice(this.#waiting.indexOf(batch), 1);
    const target = batch.buffer.subarray(0, batch.endOffset);
    batch.reading = this.#threads.readFiles(batch.files, target, this.#hasher.keyOf('data'));
    batch.isReading = true;
    this.#readingCount += 1;
    this.#started.add(batch);
  }

  /** Only here it is known that a batch has been read: to ask for its result may mean to read it. */
  #settle(batch: Batch): void {
    if (!batch.isReading) return;
    batch.isReading = false;
    this.#readingCount -= 1;
    this.#readWaiting();
  }
}

/** Files that one thread reads as one task. */
class Batch {
  readonly buffer: Buffer;
  readonly files: ListedFile[] = [];
  endOffset = 0;
  releasedCount = 0;
  reading: Reading | undefined;
  isReading = false;
  found: Awaited<ReturnType<Reading['result']>> | undefined;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  hasRoomFor(sizeBytes: number): boolean {
    return this.files.length < BATCH_FILES_MAX && this.endOffset + sizeBytes + 1 <= this.buffer.length;
  }

  add(file: ListedFile): FileAhead {
    const { sizeBytes } = file.metadata;
    const ahead = { batch: this, index: this.files.length, offset: this.endOffset, sizeBytes };
    this.files.push(file);
    this.endOffset += sizeBytes + 1;
    return ahead;
  }
}
