import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { END_MESSAGE, claim, transferOf } from './task-messages.ts';
import type { ResultOf, Task, TaskMessage, TaskReply } from './task-messages.ts';
import { perform } from './tasks.ts';
import { closeZstd } from './zstd.ts';

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

parentPort?.on('message', (message: TaskMessage | typeof END_MESSAGE) => {
  if (message === END_MESSAGE) end();
  else carryOut(message);
});

function end(): void {
  closeZstd();
  parentPort!.close();
}

function carryOut({ id, slot, task }: TaskMessage): void {
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

function resultMemory(result: ResultOf<Task>): ArrayBuffer[] {
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
