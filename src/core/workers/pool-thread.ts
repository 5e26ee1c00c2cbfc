import { Worker } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { startedAsBatch } from '../files/native/batch-policy.ts';
import { VERSION } from '../util/version.ts';
import type { QueuedTask } from './queued-task.ts';
import { END_MESSAGE, claim, resetClaim, transferredBy } from './task-messages.ts';
import type { TaskMessage, TaskReply, ThreadData } from './task-messages.ts';

/** Maximum number of stealable tasks without a reply; a stolen task counts until the thread skips it. */
const SLOT_COUNT = 16;
/** A thread produces little garbage, but by default V8 would reserve 16 MiB for it. */
const YOUNG_MEBIBYTES_MAX = 2;

interface SentTask {
  /** Undefined if the task was stolen. */
  queued: QueuedTask | undefined;
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
  readonly #sent = new Map<number, SentTask>();
  #lastId = 0;
  #stolenCount = 0;
  #end: Error | undefined;

  /** `onChange` is called when there is room for another task, or when the thread has ended. */
  constructor(program: string, onChange: () => void) {
    this.#onChange = onChange;
    this.#worker = startedAsBatch(() => {
      return new Worker(program, {
        workerData: { claims: this.#claims, version: VERSION } satisfies ThreadData,
        // Options such as --input-type, which a program that uses the library may have, make a thread fail.
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES_MAX },
      });
    });
    this.#worker.unref();
    this.#worker.on('message', (reply: TaskReply) => this.#onReply(reply));
    this.#worker.on('error', (error) => this.#giveUp(error));
    this.#worker.on('messageerror', (error) => this.#giveUp(error));
    this.#worker.on('exit', (code) => this.#giveUp(new Error(`a worker thread ended with code ${code}`)));
  }

  /** Number of tasks to do, including the current one. */
  get taskCount(): number {
    return this.#sent.size - this.#stolenCount;
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
  send(queued: QueuedTask, options: { readonly stays: boolean }): void {
    if (this.#end !== undefined) {
      queued.reject(this.#end);
      return;
    }
    const slot = options.stays ? undefined : this.#freeSlots.pop();
    this.#lastId += 1;
    const message: TaskMessage = { id: this.#lastId, slot, task: queued.task };
    try {
      if (slot !== undefined) resetClaim(this.#claims, slot);
      this.#worker.postMessage(message, transferredBy(queued.task));
      // Keeps the process alive only while it waits for a reply.
      if (this.#sent.size === 0) this.#worker.ref();
      this.#sent.set(message.id, { queued, slot });
    } catch (error) {
      // The task could not be serialised.
      if (slot !== undefined) this.#freeSlots.push(slot);
      queued.reject(error);
    }
  }

  /** Steals a task unless the thread has started it; returns true if the caller must do it now. */
  steal(queued: QueuedTask): boolean {
    for (const sent of this.#sent.values()) if (sent.queued === queued) return this.#steal(sent);
    return false;
  }

  /** Steals any task that the thread has not started; undefined if there is none. */
  stealAny(): QueuedTask | undefined {
    for (const sent of this.#sent.values()) {
      const { queued } = sent;
      if (queued !== undefined && this.#steal(sent)) return queued;
    }
    return undefined;
  }

  /** Ends the thread when it has carried out all tasks that were sent. */
  close(): void {
    this.#worker.postMessage(END_MESSAGE);
  }

  #steal(sent: SentTask): boolean {
    if (sent.slot === undefined || !claim(this.#claims, sent.slot)) return false;
    sent.queued = undefined;
    this.#stolenCount += 1;
    return true;
  }

  #onReply({ id, result, failure }: TaskReply): void {
    const sent = this.#sent.get(id);
    // A reply may arrive after the thread has failed.
    if (sent === undefined) return;
    this.#sent.delete(id);
    if (sent.slot !== undefined) this.#freeSlots.push(sent.slot);
    if (this.#sent.size === 0) this.#worker.unref();
    if (sent.queued === undefined) this.#stolenCount -= 1;
    else if (failure === undefined) sent.queued.resolve(result);
    else sent.queued.reject(errorOf(failure));
    this.#onChange();
  }

  #giveUp(error: Error): void {
    this.#end ??= new LdmError(`a worker thread failed: ${error.message}`, {
      cause: error,
      hint: error.message.includes('EMFILE')
        ? 'Too many files are open: raise the limit (`ulimit -n`), then run the command again.'
        : 'The machine may be out of memory. Unfinished work was not saved; run the command again.',
    });
    for (const { queued } of this.#sent.values()) queued?.reject(this.#end);
    this.#sent.clear();
    this.#stolenCount = 0;
    this.#onChange();
  }
}

function errorOf({ kind, message, hint }: NonNullable<TaskReply['failure']>): Error {
  const details = hint === undefined ? {} : { hint };
  if (kind === 'corrupt') return new CorruptDataError(message, details);
  if (kind === 'installation') return new InstallationError(message, details);
  return kind === 'expected' ? new LdmError(message, details) : new Error(message);
}
