import { Worker } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { claim, resetClaim } from './task-claim.ts';
import type { TaskJob } from './task-job.ts';
import { givenAwayBy } from './task-memory.ts';
import type { TaskOrder, TaskReply } from './task-thread.ts';

/** Maximum number of stealable tasks without a reply; a stolen task counts until the thread skips it. */
const SLOT_COUNT = 16;
/** A thread produces little garbage, but by default V8 would reserve 16 MiB for it. */
const YOUNG_MEBIBYTES_MAX = 2;

interface Given {
  /** Undefined if the task was stolen. */
  job: TaskJob | undefined;
  /** Slot in which the task is claimed; undefined if it cannot be stolen. */
  readonly slot: number | undefined;
}

/** A worker thread, seen from the main thread. */
export class PoolThread {
  readonly #worker: Worker;
  readonly #onChange: () => void;
  /** For each slot, whether its task has been claimed. */
  readonly #claims = new Int32Array(new SharedArrayBuffer(SLOT_COUNT * Int32Array.BYTES_PER_ELEMENT));
  readonly #freeSlots = Array.from({ length: SLOT_COUNT }, (_, slot) => slot);
  /** Tasks without a reply, in the order they were sent. */
  readonly #given = new Map<number, Given>();
  #lastId = 0;
  #takenBackCount = 0;
  #end: Error | undefined;

  /** `onChange` is called when there is room for another task, or when the thread has ended. */
  constructor(program: string, onChange: () => void) {
    this.#onChange = onChange;
    this.#worker = new Worker(program, {
      workerData: this.#claims,
      // Options such as --input-type, which a program that uses the library may have, make a thread fail.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES_MAX },
    });
    this.#worker.unref();
    this.#worker.on('message', (reply: TaskReply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#giveUp(error));
    this.#worker.on('messageerror', (error) => this.#giveUp(error));
    this.#worker.on('exit', (code) => this.#giveUp(new Error(`a worker thread ended with code ${code}`)));
  }

  /** Number of tasks to do, including the current one. */
  get jobCount(): number {
    return this.#given.size - this.#takenBackCount;
  }

  /** Whether no more stealable tasks can be sent. */
  get isFull(): boolean {
    return this.#freeSlots.length === 0;
  }

  /** The error that ended the thread. */
  get end(): Error | undefined {
    return this.#end;
  }

  /** Sends a task. With `stays` it cannot be stolen; such tasks run in the order they are sent. */
  give(job: TaskJob, options: { readonly stays: boolean }): void {
    if (this.#end !== undefined) {
      job.reject(this.#end);
      return;
    }
    const slot = options.stays ? undefined : this.#freeSlots.pop();
    this.#lastId += 1;
    const order: TaskOrder = { id: this.#lastId, slot, task: job.task };
    try {
      if (slot !== undefined) resetClaim(this.#claims, slot);
      this.#worker.postMessage(order, givenAwayBy(job.task));
      // Keeps the process alive only while it waits for a reply.
      if (this.#given.size === 0) this.#worker.ref();
      this.#given.set(order.id, { job, slot });
    } catch (error) {
      // The task could not be serialised.
      if (slot !== undefined) this.#freeSlots.push(slot);
      job.reject(error);
    }
  }

  /** Steals a task unless the thread has started it; returns true if the caller must do it now. */
  takeBack(job: TaskJob): boolean {
    for (const given of this.#given.values()) if (given.job === job) return this.#takeBack(given);
    return false;
  }

  /** Steals any task that the thread has not started; undefined if there is none. */
  takeBackAny(): TaskJob | undefined {
    for (const given of this.#given.values()) {
      const { job } = given;
      if (job !== undefined && this.#takeBack(given)) return job;
    }
    return undefined;
  }

  #takeBack(given: Given): boolean {
    if (given.slot === undefined || !claim(this.#claims, given.slot)) return false;
    given.job = undefined;
    this.#takenBackCount += 1;
    return true;
  }

  #settle({ id, result, failure }: TaskReply): void {
    const given = this.#given.get(id);
    // A reply may arrive after the thread has failed.
    if (given === undefined) return;
    this.#given.delete(id);
    if (given.slot !== undefined) this.#freeSlots.push(given.slot);
    if (this.#given.size === 0) this.#worker.unref();
    if (given.job === undefined) this.#takenBackCount -= 1;
    else if (failure === undefined) given.job.resolve(result);
    else given.job.reject(errorOf(failure));
    this.#onChange();
  }

  #giveUp(error: Error): void {
    this.#end ??= new LdmError(`a worker thread failed: ${error.message}`, {
      cause: error,
      hint: 'The machine may be out of memory. Unfinished work was not saved; run the command again.',
    });
    for (const { job } of this.#given.values()) job?.reject(this.#end);
    this.#given.clear();
    this.#takenBackCount = 0;
    this.#onChange();
  }
}

function errorOf({ kind, message, hint }: NonNullable<TaskReply['failure']>): Error {
  const details = hint === undefined ? {} : { hint };
  if (kind === 'corrupt') return new CorruptDataError(message, details);
  if (kind === 'installation') return new InstallationError(message, details);
  return kind === 'expected' ? new LdmError(message, details) : new Error(message);
}
