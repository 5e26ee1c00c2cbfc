import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { claim } from './task-claim.ts';
import { transferOf } from './task-memory.ts';
import { perform } from './tasks.ts';
import type { Task, TaskResults } from './tasks.ts';

/** What a thread of the pool is sent. */
export interface TaskOrder {
  readonly id: number;
  /** Where it is claimed before it is begun, if it may be taken back. */
  readonly slot: number | undefined;
  readonly task: Task;
}

/** What it sends back; neither a result nor a failure where the task was taken back. */
export interface TaskReply {
  readonly id: number;
  readonly result?: TaskResults[Task['name']];
  /** An error of ldm's own keeps its class; it cannot cross threads itself. */
  readonly failure?: {
    readonly kind: 'corrupt' | 'installation' | 'expected' | 'fault';
    readonly message: string;
    readonly hint?: string;
  };
}

/**
 * How much a thread stands back behind the main one, whose work all others wait for: where there are more threads than
 * cores, every task that is handed over would take the core from it. Measured on two cores: 67,000 small files take 8 %
 * less time (median of 7 in turn). Among other programs of its session it gets a third of what they get.
 */
const NICENESS = 5;
const NICENESS_MAX = 19;

if (parentPort !== null && process.platform === 'linux') standBack();

/** On Linux, 0 means the calling thread. */
function standBack(): void {
  try {
    setPriority(0, Math.min(NICENESS_MAX, getPriority(0) + NICENESS));
  } catch {
    // A sandbox may forbid it; that costs nothing but time.
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

// What cannot be read has no answer: the thread ends, and everybody who waits hears it.
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
