import type { TargetError } from '../../core/errors.ts';
import { writeTargetFile } from '../../core/files/target/target-file.ts';
import type { FileToWrite } from '../../core/files/target/target-file.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { BufferPool } from '../../core/store/buffer-pool.ts';

/** A longer file is not worth the copy. */
const FILE_BYTES_MAX = 256 * 1024;
const BATCH_BYTES_MAX = 512 * 1024;
/** 1 to 4 ms of work. Handing a batch to a thread costs 0.1 ms. */
const BATCH_FILES_MAX = 64;

export type WriterThreads = Pick<Repository['threads'], 'writeFiles'>;

interface WriteBehindCallbacks<F> {
  /** At most this many batches are being written or wait for a thread. */
  readonly batchesMax: number;
  /** `failure`: metadata that could not be set. */
  readonly onWritten: (file: F, failure: TargetError | undefined) => void;
  /** The file was not written. */
  readonly onFailed: (file: F, error: unknown) => void;
}

/**
 * Writes small files in other threads. Creating a file costs 15 to 60 us, which is most of the time of a
 * restore of small files. Callbacks run in the order in which the files were added, and only within `makeRoom` and
 * `finish`.
 */
export class WriteBehind<F extends FileToWrite> {
  readonly #policy: TargetPolicy;
  readonly #threads: WriterThreads;
  readonly #callbacks: WriteBehindCallbacks<F>;
  readonly #pool = new BufferPool({ sizeBytesMin: BATCH_BYTES_MAX });
  #open: Batch<F> | undefined;
  readonly #started: Batch<F>[] = [];

  constructor(policy: TargetPolicy, threads: WriterThreads, callbacks: WriteBehindCallbacks<F>) {
    this.#policy = policy;
    this.#threads = threads;
    this.#callbacks = callbacks;
  }

  /** Returns whether a file of this size should be written by a thread. */
  takes(sizeBytes: number): boolean {
    return sizeBytes <= FILE_BYTES_MAX;
  }

  /** Returns the memory for the bytes of the next file. */
  roomFor(sizeBytes: number): Buffer {
    if (this.#open?.hasRoomFor(sizeBytes) === false) this.#start(this.#open);
    this.#open ??= new Batch<F>(this.#pool.take(BATCH_BYTES_MAX));
    return this.#open.roomFor(sizeBytes);
  }

  /**
   * Adds the file whose bytes are in the memory from `roomFor`. Its path must remain valid until the file is written.
   * Throws TargetError if its directory cannot be opened again.
   */
  add(file: F): void {
    this.#open!.add(file);
  }

  /** Starts writing the files added so far. Call it before something that takes longer. */
  start(): void {
    const filling = this.#filling();
    if (filling !== undefined) this.#start(filling);
  }

  /** Waits until the number of pending batches is below its limit; returns no promise if it is. */
  makeRoom(): Promise<void> | undefined {
    return this.#started.length < this.#callbacks.batchesMax ? undefined : this.#settle().then(() => this.makeRoom());
  }

  /** Waits until everything is written. */
  async finish(): Promise<void> {
    this.start();
    while (this.#started.length > 0) await this.#settle();
  }

  /** For a restore that ends early. When it returns, no thread writes any more. */
  async stop(): Promise<void> {
    const dropped = this.#started.splice(0);
    this.#open = undefined;
    await Promise.all(dropped.map(async ({ writing }) => writing?.drop()));
  }

  /** A batch can be open but empty, after the chunks of a file could not be read. */
  #filling(): Batch<F> | undefined {
    return this.#open !== undefined && this.#open.files.length > 0 ? this.#open : undefined;
  }

  #start(batch: Batch<F>): void {
    const source = batch.buffer.subarray(0, batch.endOffset);
    batch.writing = this.#threads.writeFiles(batch.files, batch.paths, source, this.#policy);
    this.#started.push(batch);
    this.#open = undefined;
  }

  async #settle(): Promise<void> {
    const batch = this.#started[0]!;
    const isWritten = await batch.writing!.result();
    let offset = 0;
    for (const [index, file] of batch.files.entries()) {
      const endOffset = offset + file.sizeBytes;
      if (isWritten[index] === 1) this.#callbacks.onWritten(file, undefined);
      else this.#writeAgain(file, batch.buffer.subarray(offset, endOffset));
      offset = endOffset;
    }
    this.#started.shift();
    this.#pool.give(batch.buffer);
  }

  /** Writes the file again in this thread, to get the error. */
  #writeAgain(file: F, bytes: Uint8Array): void {
    let failure: TargetError | undefined;
    try {
      failure = writeTargetFile(file, bytes, file, { policy: this.#policy });
    } catch (error) {
      this.#callbacks.onFailed(file, error);
      return;
    }
    this.#callbacks.onWritten(file, failure);
  }
}

/** Files that one thread writes as one task. */
class Batch<F extends FileToWrite> {
  readonly buffer: Buffer;
  readonly files: F[] = [];
  readonly paths: ByteString[] = [];
  endOffset = 0;
  writing: ReturnType<WriterThreads['writeFiles']> | undefined;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  hasRoomFor(sizeBytes: number): boolean {
    return this.files.length < BATCH_FILES_MAX && this.endOffset + sizeBytes <= this.buffer.length;
  }

  roomFor(sizeBytes: number): Buffer {
    return this.buffer.subarray(this.endOffset, this.endOffset + sizeBytes);
  }

  add(file: F): void {
    this.paths.push(file.path);
    this.files.push(file);
    this.endOffset += file.sizeBytes;
  }
}
