import { parentPort, workerData } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { END_MESSAGE, claim, transferOf } from './task-messages.ts';
import type { ResultOf, Task, TaskMessage, TaskReply, ThreadData } from './task-messages.ts';
import { perform } from './tasks.ts';
import { closeZstd } from './zstd.ts';
import { collectGarbage } from '../util/garbage.ts';
import { VERSION } from '../util/version.ts';

// A thread is started when it is needed, so the program may have been updated since. Tasks have the form of one version.
const { claims, version } = workerData as ThreadData;
if (version !== VERSION) throw new Error('the program was updated while it ran');

parentPort?.on('message', (message: TaskMessage | typeof END_MESSAGE) => {
  if (message === END_MESSAGE) end();
  else carryOut(message);
});

function end(): void {
  closeZstd();
  parentPort!.close();
}

function carryOut({ id, slot, task }: TaskMessage): void {
  if (slot !== undefined && !claim(claims, slot)) {
    parentPort!.postMessage({ id } satisfies TaskReply);
    return;
  }
  try {
    const result = perform(task);
    parentPort!.postMessage({ id, result } satisfies TaskReply, resultMemory(result));
  } catch (error) {
    parentPort!.postMessage({ id, failure: failureOf(error) } satisfies TaskReply);
  }
  if (usesCipher(task)) collectGarbage({ type: 'minor' });
}

/**
 * Each piece that a cipher has encrypted or decrypted is new memory. V8 would let 30 to 50 MB of it accumulate in each
 * thread; to collect it after each block takes no more processor time.
 */
function usesCipher(task: Task): boolean {
  return task.name === 'seal' || ('envelope' in task && task.envelope !== undefined);
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
