import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import { LdmError } from '../errors.ts';
import { OPEN_FILES_MIN, openFilesMax } from '../files/native/open-files.ts';
import type { ListedFile } from '../files/source/source-stream.ts';
import type { FileToWrite } from '../files/target/target-file.ts';
import type { TargetPolicy } from '../files/target/target-policy.ts';
import { packFilesToWrite, packListed } from './file-lists.ts';
import type { ByteString } from '../util/byte-string.ts';
import { PoolThread } from './pool-thread.ts';
import { QueuedTask } from './queued-task.ts';
import { transferredBy } from './task-messages.ts';
import type { FilesRead, ResultOf, Task } from './task-messages.ts';

/**
 * A short command finishes before a thread has started (40 ms), so the caller first decompresses or hashes this many
 * bytes itself.
 */
const INLINE_BYTES = 32 * 1024 * 1024;
/**
 * Compressing a byte takes four times as long and uses memory that the caller would keep, so a few blocks already start
 * the threads. Measured on a first backup of 1.4 GB of /usr: peak memory is 11 MB lower.
 */
const BYTES_PER_BYTE_COMPRESSED = 10;
/**
 * Opening and closing a file takes as long as decompressing this many bytes (30 us); creating one takes twice as long.
 */
const BYTES_PER_FILE_READ = 32 * 1024;
const BYTES_PER_FILE_WRITTEN = 64 * 1024;
const THREADS_MAX = 16;
/** A thread keeps 5 files open, and has up to 8 open while it starts. The directories of a restore may need as many. */
const OPEN_FILES_PER_THREAD = 16;
/** One running and one queued, so that a thread never waits for its next task. */
const TASKS_PER_THREAD = 2;
/** The built program even when running from source, because a thread cannot run TypeScript on Node 20. */
const PROGRAM = createRequire(import.meta.url).resolve('#task-thread');

interface TaskPoolOptions {
  /**
   * With 0 threads the caller runs every task immediately. Default: one for each core, and at least two, as far as the
   * limit on open files allows.
   */
  readonly threadCount?: number | undefined;
  /** At most this many threads, if the default is more. */
  readonly threadsMax?: number | undefined;
  /** Default: the limit of the system for this process. */
  readonly openFiles?: number;
  /** Amount of work that the caller does before it starts a thread, in bytes. */
  readonly inlineBytes?: number;
  /** The program of the threads. */
  readonly program?: string;
}

/** A task whose result is needed later. */
export interface StartedTask<R> {
  /** Waits for the result; runs the task itself if no thread has started it. */
  result(): Promise<R>;
  /** Discards the result; waits until the task no longer runs. */
  drop(): Promise<void>;
}

/** Runs tasks in threads, so that every core is busy while the main thread reads and writes. */
export class TaskPool {
  readonly #program: string;
  readonly #threads: PoolThread[] = [];
  /** Tasks that wait for a thread. They are queued here, so that the first free thread, or the caller, takes them. */
  readonly #queue: QueuedTask[] = [];
  #threadCount: number;
  #inlineBytesLeft: number;
  readonly #isLimited: boolean;
  #isClosed = false;

  constructor(options: TaskPoolOptions = {}) {
    this.#threadCount =
      options.threadCount ??
      Math.min(options.threadsMax ?? Infinity, defaultThreadCount(options.openFiles ?? openFilesMax()));
    this.#isLimited = options.threadsMax !== undefined;
    this.#program = options.program ?? PROGRAM;
    this.#inlineBytesLeft = options.inlineBytes ?? INLINE_BYTES;
  }

  /**
   * Runs a task and returns its result. Shared memory is used in place, other bytes are copied; the payload of a
   * `decompress` task is transferred, so the caller loses it.
   */
  async run<T extends Task>(task: T): Promise<ResultOf<T>> {
    return (await this.#submit(task).result) as ResultOf<T>;
  }

  /** Like `run`, for a caller that continues and needs the result later. */
  start<T extends Task>(task: T): StartedTask<ResultOf<T>> {
    const queued = this.#submit(task);
    return {
      result: async () => {
        if (this.#steal(queued)) queued.perform();
        return (await queued.result) as ResultOf<T>;
      },
      drop: async () => {
        if (!this.#steal(queued)) await queued.result.then(ignore, ignore);
      },
    };
  }

  /** Starts to read small files into `target`, which has one byte more than the size of each, and to hash them. */
  readFiles(files: readonly ListedFile[], target: Uint8Array, key: ChunkIdKey): StartedTask<FilesRead> {
    return this.start({ name: 'read', files: packListed(files), target, key });
  }

  /** Starts to write small files. `paths`: that of each file; `source`: their concatenated contents. */
  writeFiles(
    files: readonly Omit<FileToWrite, 'path'>[],
    paths: readonly ByteString[],
    source: Uint8Array,
    policy: TargetPolicy,
  ): StartedTask<Uint8Array> {
    const { setsOwners, ownGroups, attributes } = policy;
    const threadPolicy = { setsOwners, ownGroups, attributes, makesDevices: false, byName: undefined };
    return this.start({ name: 'write', files: packFilesToWrite(files, paths, policy), source, policy: threadPolicy });
  }

  /** Starts all threads, for a caller that expects much work. */
  prepare(): void {
    this.#inlineBytesLeft = 0;
    while (this.#threads.length < this.#threadCount) this.#startThread();
  }

  /**
   * For a caller that starts a thread of its own: if the number of threads is limited, this pool uses one less until the
   * caller calls the result. Returns undefined if the limit leaves no room.
   */
  makeRoom(): (() => void) | undefined {
    if (!this.#isLimited) return () => undefined;
    if (this.#threadCount === 0) return undefined;
    this.#threadCount -= 1;
    return () => {
      if (!this.#isClosed) this.#threadCount += 1;
    };
  }

  /** Ends the threads. Running tasks are completed, waiting ones fail; later ones run on the calling thread. */
  close(): void {
    this.#threadCount = 0;
    this.#isClosed = true;
    for (const thread of this.#threads.splice(0)) thread.close();
    for (const queued of this.#queue.splice(0)) queued.reject(new LdmError('the task pool was closed'));
  }

  #submit(task: Task): QueuedTask {
    const queued = new QueuedTask(task);
    this.#inlineBytesLeft -= workBytes(task);
    if (this.#inlineBytesLeft >= 0 || this.#threadCount === 0) {
      queued.perform();
    } else {
      this.#queue.push(queued);
      this.#dispatch();
    }
    return queued;
  }

  /** Steals a task that has not been started; returns true if the caller must do it now. */
  #steal(queued: QueuedTask): boolean {
    const index = this.#queue.indexOf(queued);
    if (index >= 0) this.#queue.splice(index, 1);
    return index >= 0 || this.#threads.some((thread) => thread.steal(queued));
  }

  #dispatch(): void {
    const end = this.#threads.find((thread) => thread.end !== undefined)?.end;
    if (end !== undefined) {
      for (const queued of this.#queue.splice(0)) queued.reject(end);
      return;
    }
    while (this.#queue.length > 0 || this.#threads.length > 0) {
      const thread = this.#leastBusy();
      if (thread.taskCount >= TASKS_PER_THREAD || thread.isFull) return;
      const queued = this.#takeNext() ?? (thread.taskCount === 0 ? this.#stealAny() : undefined);
      if (queued === undefined) return;
      // A transferred payload is no longer available here, so its task cannot be stolen.
      thread.send(queued, { stays: transferredBy(queued.task).length > 0 });
    }
  }

  /**
   * Removes the next task from the queue. Compression comes last: it takes 20 ms and only delays the final write, while
   * the main thread often waits for an id.
   */
  #takeNext(): QueuedTask | undefined {
    const urgent = this.#queue.findIndex(({ task }) => task.name !== 'compress' && task.name !== 'seal');
    return this.#queue.splice(Math.max(0, urgent), 1)[0];
  }

  /** Steals a task from a busy thread for an idle one. */
  #stealAny(): QueuedTask | undefined {
    for (const thread of this.#threads) {
      const queued = thread.taskCount > 1 ? thread.stealAny() : undefined;
      if (queued !== undefined) return queued;
    }
    return undefined;
  }

  #leastBusy(): PoolThread {
    const idlest = this.#threads.reduce<PoolThread | undefined>(
      (best, thread) => (best === undefined || thread.taskCount < best.taskCount ? thread : best),
      undefined,
    );
    if (idlest !== undefined && (idlest.taskCount === 0 || this.#threads.length === this.#threadCount)) return idlest;
    return this.#startThread();
  }

  #startThread(): PoolThread {
    const thread = new PoolThread(this.#program, () => this.#dispatch());
    this.#threads.push(thread);
    return thread;
  }
}

function ignore(): void {}

function defaultThreadCount(openFiles: number): number {
  const allowed = Math.max(0, Math.floor((openFiles - OPEN_FILES_MIN) / OPEN_FILES_PER_THREAD));
  return Math.min(THREADS_MAX, Math.max(2, availableParallelism()), allowed);
}

/** Cost of a task, in bytes to decompress or hash. */
function workBytes(task: Task): number {
  if (task.name === 'compress' || task.name === 'seal') return task.raw.length * BYTES_PER_BYTE_COMPRESSED;
  if (task.name === 'decompress' || task.name === 'verify') return task.rawBytes;
  if (task.name === 'read') return task.files.count * BYTES_PER_FILE_READ + task.target.length;
  if (task.name === 'write') return task.files.count * BYTES_PER_FILE_WRITTEN;
  return task.bytes.length;
}
