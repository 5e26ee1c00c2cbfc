import { Worker } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { claim, resetClaim } from './task-claim.ts';
import type { TaskJob } from './task-job.ts';
import { givenAwayBy } from './task-memory.ts';
import type { TaskOrder, TaskReply } from './task-thread.ts';

/** Of jobs that can be taken back, so many may be unanswered; those that were taken back are, until the thread sees it. */
const SLOT_COUNT = 16;
/** A thread makes little garbage; left alone, V8 would keep 16 MiB for it. */
const YOUNG_MEBIBYTES_MAX = 2;

interface Given {
  /** Undefined where it was taken back. */
  job: TaskJob | undefined;
  /** Where it can be claimed. */
  readonly slot: number | undefined;
}

/** A thread of a pool, as the main thread sees it. */
export class PoolThread {
  readonly #worker: Worker;
  readonly #onChange: () => void;
  /** By slot, whether somebody has begun the job in it. */
  readonly #claims = new Int32Array(new SharedArrayBuffer(SLOT_COUNT * Int32Array.BYTES_PER_ELEMENT));
  readonly #freeSlots = Array.from({ length: SLOT_COUNT }, (_, slot) => slot);
  /** What the thread has not answered, in the order it was given. */
  readonly #given = new Map<number, Given>();
  #lastId = 0;
  #takenBackCount = 0;
  #end: Error | undefined;

  /** `onChange` hears that there is room for another job, or that the thread has ended. */
  constructor(program: string, onChange: () => void) {
    this.#onChange = onChange;
    this.#worker = new Worker(program, {
      workerData: this.#claims,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES_MAX },
    });
    this.#worker.unref();
    this.#worker.on('message', (reply: TaskReply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#giveUp(error));
    this.#worker.on('messageerror', (error) => this.#giveUp(error));
    this.#worker.on('exit', (code) => this.#giveUp(new Error(`a worker thread ended with code ${code}`)));
  }

  /** How many jobs it has to do, the one it is at included. */
  get jobCount(): number {
    return this.#given.size - this.#takenBackCount;
  }

  /** Whether no job can be given to it that may be taken back. */
  get isFull(): boolean {
    return this.#freeSlots.length === 0;
  }

  /** Why it will never do anything again. */
  get end(): Error | undefined {
    return this.#end;
  }

  /** What stays is done in the order in which it is given, and is never taken back. */
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
      // The process lives as long as it waits for an answer, and no longer.
      if (this.#given.size === 0) this.#worker.ref();
      this.#given.set(order.id, { job, slot });
    } catch (error) {
      // A task that cannot be sent.
      if (slot !== undefined) this.#freeSlots.push(slot);
      job.reject(error);
    }
  }

  /** Whether a job that was given has not been begun; then it is the caller's again. */
  takeBack(job: TaskJob): boolean {
    for (const given of this.#given.values()) if (given.job === job) return this.#takeBack(given);
    return false;
  }

  /** A job that has not been begun, taken back; undefined where there is none. */
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
    // An answer may still come after the failure of its thread.
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
      hint: 'The machine may be out of memory. What the command had not finished was not saved; run it again.',
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
