import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { CorruptDataError, LdmError } from '../errors.ts';
import { transferOf } from './task-memory.ts';
import type { TaskReply } from './task-thread.ts';
import { perform } from './tasks.ts';
import type { Task, TaskResults } from './tasks.ts';

/** A short command is done before a thread has started (40 ms): so many bytes are worked on by the caller first. */
const INLINE_BYTES = 8 * 1024 * 1024;
/** To unpack or hash a byte takes a quarter of the time that it takes to compress it. */
const LIGHT_WORK_DIVISOR = 4;
const THREADS_MAX = 16;
/** A thread makes little garbage; left alone, V8 would keep 16 MiB for it. */
const YOUNG_MEBIBYTES_MAX = 2;
/** The built program, also where this runs from its sources: a thread cannot start from TypeScript on Node 20. */
const PROGRAM = createRequire(import.meta.url).resolve('#task-thread');

type Result = TaskResults[Task['name']];

export interface TaskPoolOptions {
  /** Without threads every task is done by the caller, at once. */
  readonly threadCount: number;
  /** So much is done by the caller before a thread is started. */
  readonly inlineBytes: number;
  /** What the threads run. */
  readonly program?: string;
}

/** Runs tasks in threads, so that every core has work while the main thread reads and writes. */
export class TaskPool {
  readonly #threadCount: number;
  readonly #program: string;
  readonly #threads: TaskThread[] = [];
  #inlineBytesLeft: number;

  constructor(options: TaskPoolOptions) {
    this.#threadCount = options.threadCount;
    this.#program = options.program ?? PROGRAM;
    this.#inlineBytesLeft = options.inlineBytes;
  }

  /** Bytes in shared memory are worked on where they are, others are copied. A payload to unpack is given away. */
  async run<T extends Task>(task: T): Promise<TaskResults[T['name']]> {
    this.#inlineBytesLeft -= workBytes(task);
    if (this.#inlineBytesLeft >= 0 || this.#threadCount === 0) return perform(task);
    return (await this.#leastBusy().run(task)) as TaskResults[T['name']];
  }

  /** For tasks that belong together: one place, where they are done in their order. */
  lane(): <T extends Task>(task: T) => Promise<TaskResults[T['name']]> {
    const thread = this.#threads.length === 0 ? undefined : this.#leastBusy();
    return async <T extends Task>(task: T) => {
      if (thread === undefined) return perform(task);
      return (await thread.run(task)) as TaskResults[T['name']];
    };
  }

  #leastBusy(): TaskThread {
    if (this.#threads.length < this.#threadCount) {
      const thread = new TaskThread(this.#program);
      this.#threads.push(thread);
      return thread;
    }
    return this.#threads.reduce((best, thread) => (thread.waitingCount < best.waitingCount ? thread : best));
  }
}

/** The threads of this process. */
export const taskPool: TaskPool = new TaskPool({
  threadCount: Math.min(THREADS_MAX, Math.max(2, availableParallelism())),
  inlineBytes: INLINE_BYTES,
});

interface Waiting {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

class TaskThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #end: Error | undefined;

  constructor(program: string) {
    this.#worker = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES_MAX } });
    this.#worker.unref();
    this.#worker.on('message', (reply: TaskReply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#giveUp(error));
    this.#worker.on('messageerror', (error) => this.#giveUp(error));
    this.#worker.on('exit', (code) => this.#giveUp(new Error(`a thread of the pool ended with code ${code}`)));
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  async run(task: Task): Promise<Result> {
    if (this.#end !== undefined) throw this.#end;
    this.#lastId += 1;
    const id = this.#lastId;
    return await new Promise((resolve, reject) => {
      // Before anybody waits for it: a task that cannot be sent throws here.
      this.#worker.postMessage({ id, task }, task.name === 'unpack' ? transferOf(task.payload) : []);
      // The process lives as long as it waits for an answer, and no longer.
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
    });
  }

  #settle({ id, result, failure }: TaskReply): void {
    const waiting = this.#waiting.get(id);
    // An answer may still come after the failure of its thread.
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (failure !== undefined) waiting.reject(errorOf(failure));
    else waiting.resolve(result);
  }

  #giveUp(error: Error): void {
    this.#end ??= new LdmError(`a thread of the pool failed: ${error.message}`, {
      cause: error,
      hint: 'There may be too little memory. What the command had not finished was not saved; run it again.',
    });
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }
}

function errorOf({ kind, message, hint }: NonNullable<TaskReply['failure']>): Error {
  const details = hint === undefined ? {} : { hint };
  if (kind === 'corrupt') return new CorruptDataError(message, details);
  return kind === 'expected' ? new LdmError(message, details) : new Error(message);
}

/** In bytes to compress. */
function workBytes(task: Task): number {
  if (task.name === 'compress') return task.raw.length;
  if (task.name === 'unpack' || task.name === 'prove') return task.rawBytes / LIGHT_WORK_DIVISOR;
  return 'bytes' in task ? task.bytes.length / LIGHT_WORK_DIVISOR : 0;
}
