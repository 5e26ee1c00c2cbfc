import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { PoolThread } from './pool-thread.ts';
import { TaskJob } from './task-job.ts';
import { givenAwayBy } from './task-memory.ts';
import { takeNext } from './task-order.ts';
import type { Task, TaskResults } from './tasks.ts';

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
/** One running and one queued, so that a thread never waits for its next task. */
const JOBS_PER_THREAD = 2;
/** The built program even when running from source, because a thread cannot run TypeScript on Node 20. */
const PROGRAM = createRequire(import.meta.url).resolve('#task-thread');

export interface TaskPoolOptions {
  /** With 0 threads the caller runs every task immediately. */
  readonly threadCount: number;
  /** Amount of work that the caller does before it starts a thread, in bytes. */
  readonly inlineBytes: number;
  /** The program of the threads. */
  readonly program?: string;
}

/** A task whose result is needed later. */
export interface StartedTask<T extends Task> {
  /** Waits for the result; runs the task itself if no thread has started it. */
  settle(): Promise<TaskResults[T['name']]>;
  /** Discards the result; waits until the task no longer runs. */
  drop(): Promise<void>;
}

/** Runs tasks in threads, so that every core is busy while the main thread reads and writes. */
export class TaskPool {
  readonly #threadCount: number;
  readonly #program: string;
  readonly #threads: PoolThread[] = [];
  /** Tasks that wait for a thread. They are queued here, so that the first free thread, or the caller, takes them. */
  readonly #queue: TaskJob[] = [];
  #inlineBytesLeft: number;

  constructor(options: TaskPoolOptions) {
    this.#threadCount = options.threadCount;
    this.#program = options.program ?? PROGRAM;
    this.#inlineBytesLeft = options.inlineBytes;
  }

  /**
   * Runs a task and returns its result. Shared memory is used in place, other bytes are copied; the payload of an
   * `unpack` task is transferred, so the caller loses it.
   */
  async run<T extends Task>(task: T): Promise<TaskResults[T['name']]> {
    return (await this.#submit(task).result) as TaskResults[T['name']];
  }

  /** Like `run`, for a caller that continues and needs the result later. */
  start<T extends Task>(task: T): StartedTask<T> {
    const job = this.#submit(task);
    return {
      settle: async () => {
        if (this.#takeBack(job)) job.perform();
        return (await job.result) as TaskResults[T['name']];
      },
      drop: async () => {
        if (!this.#takeBack(job)) await job.result.then(ignore, ignore);
      },
    };
  }

  #submit(task: Task): TaskJob {
    const job = new TaskJob(task);
    this.#inlineBytesLeft -= workBytes(task);
    if (this.#inlineBytesLeft >= 0 || this.#threadCount === 0) {
      job.perform();
    } else {
      this.#queue.push(job);
      this.#dispatch();
    }
    return job;
  }

  /** Steals a task that has not been started; returns true if the caller must do it now. */
  #takeBack(job: TaskJob): boolean {
    const index = this.#queue.indexOf(job);
    if (index >= 0) this.#queue.splice(index, 1);
    return index >= 0 || this.#threads.some((thread) => thread.takeBack(job));
  }

  #dispatch(): void {
    const end = this.#threads.find((thread) => thread.end !== undefined)?.end;
    if (end !== undefined) {
      for (const job of this.#queue.splice(0)) job.reject(end);
      return;
    }
    while (this.#queue.length > 0 || this.#threads.length > 0) {
      const thread = this.#leastBusy();
      if (thread.jobCount >= JOBS_PER_THREAD || thread.isFull) return;
      const job = takeNext(this.#queue) ?? (thread.jobCount === 0 ? this.#takeBackAny() : undefined);
      if (job === undefined) return;
      // A transferred payload is no longer available here, so its task cannot be stolen.
      thread.give(job, { stays: givenAwayBy(job.task).length > 0 });
    }
  }

  /** Steals a task from a busy thread for an idle one. */
  #takeBackAny(): TaskJob | undefined {
    for (const thread of this.#threads) {
      const job = thread.jobCount > 1 ? thread.takeBackAny() : undefined;
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** Starts all threads, for a caller that expects much work. */
  prepare(): void {
    this.#inlineBytesLeft = 0;
    while (this.#threads.length < this.#threadCount) this.#startThread();
  }

  #leastBusy(): PoolThread {
    const idlest = this.#threads.reduce<PoolThread | undefined>(
      (best, thread) => (best === undefined || thread.jobCount < best.jobCount ? thread : best),
      undefined,
    );
    if (idlest !== undefined && (idlest.jobCount === 0 || this.#threads.length === this.#threadCount)) return idlest;
    return this.#startThread();
  }

  #startThread(): PoolThread {
    const thread = new PoolThread(this.#program, () => this.#dispatch());
    this.#threads.push(thread);
    return thread;
  }
}

function ignore(): void {}

/** The thread pool of this process. */
export const taskPool: TaskPool = new TaskPool({
  threadCount: Math.min(THREADS_MAX, Math.max(2, availableParallelism())),
  inlineBytes: INLINE_BYTES,
});

/** Cost of a task, in bytes to decompress or hash. */
function workBytes(task: Task): number {
  if (task.name === 'compress') return task.raw.length * BYTES_PER_BYTE_COMPRESSED;
  if (task.name === 'unpack' || task.name === 'prove') return task.rawBytes;
  if (task.name === 'read') return task.files.count * BYTES_PER_FILE_READ + task.target.length;
  if (task.name === 'write') return task.files.count * BYTES_PER_FILE_WRITTEN;
  return task.bytes.length;
}
