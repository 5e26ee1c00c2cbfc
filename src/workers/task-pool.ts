import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { PoolThread } from './pool-thread.ts';
import { TaskJob } from './task-job.ts';
import { givenAwayBy } from './task-memory.ts';
import { takeNext } from './task-order.ts';
import type { Task, TaskResults } from './tasks.ts';

/** A short command is done before a thread has started (40 ms): the caller unpacks or hashes so many bytes first. */
const INLINE_BYTES = 32 * 1024 * 1024;
/**
 * To compress a byte takes four times as long, and memory that the caller would keep: whole blocks start the threads.
 * Measured on a first backup of 1.4 GB of /usr: 11 MB less at its peak.
 */
const BYTES_PER_BYTE_COMPRESSED = 10;
/** To open and close a file takes as long as to unpack so many bytes (30 us), to make one twice as long. */
const BYTES_PER_FILE_READ = 32 * 1024;
const BYTES_PER_FILE_WRITTEN = 64 * 1024;
const THREADS_MAX = 16;
/** One to work on, and one so that nothing has to be waited for in between. */
const JOBS_PER_THREAD = 2;
/** The built program, also where this runs from its sources: a thread cannot start from TypeScript on Node 20. */
const PROGRAM = createRequire(import.meta.url).resolve('#task-thread');

export interface TaskPoolOptions {
  /** Without threads every task is done by the caller, at once. */
  readonly threadCount: number;
  /** So much is done by the caller before a thread is started. */
  readonly inlineBytes: number;
  /** What the threads run. */
  readonly program?: string;
}

/** A task that somebody will want the result of later. */
export interface StartedTask<T extends Task> {
  /** Waits for the result; does the task itself where no thread has come to it yet. */
  settle(): Promise<TaskResults[T['name']]>;
  /** For a result that nobody wants any more: waits until nothing works on it. */
  drop(): Promise<void>;
}

/** Runs tasks in threads, so that every core has work while the main thread reads and writes. */
export class TaskPool {
  readonly #threadCount: number;
  readonly #program: string;
  readonly #threads: PoolThread[] = [];
  /** What waits for a thread: kept here, so that whichever is free first takes it, or the caller. */
  readonly #queue: TaskJob[] = [];
  #inlineBytesLeft: number;

  constructor(options: TaskPoolOptions) {
    this.#threadCount = options.threadCount;
    this.#program = options.program ?? PROGRAM;
    this.#inlineBytesLeft = options.inlineBytes;
  }

  /** Bytes in shared memory are worked on where they are, others are copied. A payload to unpack is given away. */
  async run<T extends Task>(task: T): Promise<TaskResults[T['name']]> {
    return (await this.#submit(task).result) as TaskResults[T['name']];
  }

  /** As `run`, for a caller who goes on meanwhile, and comes back for the result. */
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

  /** Whether nobody has begun a job; then it is the caller's. */
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
      // A payload that went over is gone on this side.
      thread.give(job, { stays: givenAwayBy(job.task).length > 0 });
    }
  }

  /** For a thread that has nothing to do, from one that has not come to it. */
  #takeBackAny(): TaskJob | undefined {
    for (const thread of this.#threads) {
      const job = thread.jobCount > 1 ? thread.takeBackAny() : undefined;
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** Starts the threads, for a caller who knows of much work to come. */
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

/** The threads of this process. */
export const taskPool: TaskPool = new TaskPool({
  threadCount: Math.min(THREADS_MAX, Math.max(2, availableParallelism())),
  inlineBytes: INLINE_BYTES,
});

/** In bytes to unpack or hash. */
function workBytes(task: Task): number {
  if (task.name === 'compress') return task.raw.length * BYTES_PER_BYTE_COMPRESSED;
  if (task.name === 'unpack' || task.name === 'prove') return task.rawBytes;
  if (task.name === 'read') return task.files.count * BYTES_PER_FILE_READ + task.target.length;
  if (task.name === 'write') return task.files.count * BYTES_PER_FILE_WRITTEN;
  return task.bytes.length;
}
