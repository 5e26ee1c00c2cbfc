import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { claim } from './task-claim.ts';
import { transferOf } from './task-memory.ts';
import { perform } from './tasks.ts';
import type { Task, TaskResults } from './tasks.ts';

/** The message to a thread of the pool. */
export interface TaskOrder {
  readonly id: number;
  /** Slot in which the thread must claim the task first; undefined if the task cannot be stolen. */
  readonly slot: number | undefined;
  readonly task: Task;
}

/** The reply of a thread; it has neither a result nor a failure if the task was stolen. */
export interface TaskReply {
  readonly id: number;
  readonly result?: TaskResults[Task['name']];
  /** The class and text of an error, because the error object itself cannot be sent between threads. */
  readonly failure?: {
    readonly kind: 'corrupt' | 'installation' | 'expected' | 'fault';
    readonly message: string;
    readonly hint?: string;
  };
}

/**
 * Lowers the priority of a thread relative to the main thread, which all others depend on: with more threads than
 * cores, every task sent to a thread would otherwise take the core from it. Measured on two cores: 67,000 small files
 * take 8 % less time (median of 7 alternating runs). Other programs of the same session get three times its share of
 * the processor.
 */
const NICENESS = 5;
const NICENESS_MAX = 19;

if (parentPort !== null && process.platform === 'linux') standBack();

/** On Linux, 0 means the calling thread. */
function standBack(): void {
  try {
    setPriority(0, Math.min(NICENESS_MAX, getPriority(0) + NICENESS));
  } catch {
    // A sandbox may forbid this; the only effect is slower operation.
  }
}

parentPort?.on('message', carryOut);

function carryOut({ id, slot, task }: TaskOrder): void {
  if (slot !== undefined && !claim(workerData as Int32Array, slot)) {
    parentPort!.postMessage({ id } satisfies TaskReply);
    return;
  }
  try {
    const result = perform(task);
    parentPort!.postMessage({ id, result } satisfies TaskReply, resultMemory(result));
  } catch (error) {
    parentPort!.postMessage({ id, failure: failureOf(error) } satisfies TaskReply);
  }
}

// A task that cannot be deserialised has no reply, so end the thread, which fails all waiting tasks.
parentPort?.on('messageerror', (error) => {
  throw error;
});

function resultMemory(result: TaskResults[Task['name']]): ArrayBuffer[] {
  return typeof result === 'object' && 'raw' in result ? transferOf(result.raw) : [];
}

function failureOf(error: unknown): NonNullable<TaskReply['failure']> {
  if (!(error instanceof LdmError))
    return { kind: 'fault', message: error instanceof Error ? String(error.stack) : String(error) };
  const { message, hint } = error;
  return { kind: kindOf(error), message, ...(hint === undefined ? {} : { hint }) };
}

function kindOf(error: LdmError): 'corrupt' | 'installation' | 'expected' {
  if (error instanceof CorruptDataError) return 'corrupt';
  return error instanceof InstallationError ? 'installation' : 'expected';
}
