import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { LdmError } from '../../src/core/errors.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { TaskPool } from '../../src/core/workers/task-pool.ts';
import { examineAftermath, partsAt } from './aftermath.ts';
import type { Expectation } from './aftermath.ts';
import type { Act, Stage } from './crash-stage.ts';
import type { Faulty } from './disk-store.ts';
import { someOfEachKind, chooseSteps } from './fault-steps.ts';
import type { LoopOptions } from './fault-steps.ts';
import { FaultyBackend, SimulatedCrash } from './faulty-backend.ts';
import type { FaultOptions } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { RepeatableRuns } from './repeatable-runs.ts';
import { simulatedProcess } from './simulated-process.ts';
import { UNREPEATABLE_OPERATIONS } from './test-password.ts';

/** How an act ended. */
export interface Ending {
  readonly succeeded: boolean;
  readonly error: unknown;
  readonly result: unknown;
}

/** A storage that breaks a rule on purpose, on top of the one that fails. */
export type Wrap = (backend: FileSystemBackend) => FileSystemBackend;

export interface Interruption {
  readonly stage: Stage;
  readonly act: Act;
  readonly fault: FaultOptions;
  readonly wrap?: Wrap | undefined;
  /** What the act works on; a copy of the stage's by default. */
  readonly backend?: FileSystemBackend | undefined;
  /** Left out: the run has random bytes of its own. */
  readonly runs?: RepeatableRuns | undefined;
  /** Left out: such as a new process has. */
  readonly threads?: TaskPool;
}

/** Runs an act whose storage fails. */
export async function runInterrupted(
  given: Interruption,
): Promise<{ readonly faulty: FaultyBackend; readonly ending: Ending }> {
  const faulty = new FaultyBackend(given.backend ?? given.stage.backend.copy(), given.fault);
  const run = async (): Promise<Ending> => {
    const context = simulatedProcess(given.wrap?.(faulty) ?? faulty);
    const threads = given.threads ?? context.threads;
    return await endingOf(given.act, { ...context, threads }, given.stage);
  };
  return { faulty, ending: await (given.runs?.run(run) ?? run()) };
}

/** Runs an act on a storage that may fail. */
export async function endingOf(act: Act, context: OperationContext, stage: Stage): Promise<Ending> {
  try {
    return { succeeded: true, error: undefined, result: await act.run(context, stage) };
  } catch (error) {
    return { succeeded: false, error, result: undefined };
  }
}

/** Which snapshots there must be after an ending: those that the act does not touch, and its effect if it succeeded. */
export function expectationOf({ act, stage }: Pick<Interruption, 'act' | 'stage'>, ending: Ending): Expectation {
  const changed = act.changedIds(stage);
  const isUndelete = stage.deletedIds.length > 0;
  const untouched = stage.snapshotIds.filter((id) => !changed.includes(id) && !stage.deletedIds.includes(id));
  if (!ending.succeeded) return { present: untouched, absent: [] };
  if (changed.length > 0) {
    return isUndelete ? { present: [...untouched, ...changed], absent: [] } : { present: untouched, absent: changed };
  }
  const made = (ending.result as { readonly snapshotId?: string }).snapshotId;
  return { present: made === undefined ? untouched : [...untouched, made], absent: [] };
}

/** An act may fail only with the fault that it met, and a process that goes on cleans up behind itself. */
export function judgeEnding(given: Pick<Interruption, 'fault'>, faulty: Faulty, ending: Ending): string[] {
  const { mode = 'error', errno = 'EIO' } = given.fault;
  if (!faulty.fired) return ending.succeeded ? [] : [`failed without a fault: ${String(ending.error)}`];
  if (mode === 'crash') return ending.succeeded || ending.error instanceof SimulatedCrash ? [] : [String(ending.error)];
  if (ending.succeeded) return [];
  // An I/O error of one file may be told as that file's damage.
  const isFault = ending.error instanceof LdmError && ending.error.message.includes(`(${errno})`);
  return isFault ? [] : [`it should have failed with ${errno}, and not with ${String(ending.error)}`];
}

/** What a process that met an error, and lived, must not leave. */
export function judgeLeavings(
  given: Interruption,
  faulty: FaultyBackend,
  backend: MemoryBackend,
  ending: Ending,
): string[] {
  const failed = faulty.operations[(given.fault.failAt ?? 0) - 1];
  const isLockRemoval = failed?.operation === 'remove' && failed.name.startsWith('locks/');
  const names = backend.names();
  // Marks of condemnations stay until the next removal, which the aftermath runs.
  const isLock = (name: string): boolean => /^locks\/(?!condemned-)/.test(name);
  const left = names.filter((name) => name.startsWith('tmp/') || (isLock(name) && !isLockRemoval));
  const known = new Set(given.stage.snapshotIds.map((id) => `snapshots/${id}`));
  const made = ending.succeeded ? [] : names.filter((name) => name.startsWith('snapshots/') && !known.has(name));
  return [...left.map((name) => `${name} was left`), ...made.map((name) => `${name} was committed all the same`)];
}

/**
 * Interrupts an act at one operation after the other (`chooseSteps`), in the suite at some of each kind; the same
 * state is examined only once.
 */
export class InterruptionLoop {
  readonly #given: Omit<Interruption, 'fault' | 'backend'>;
  readonly #memory: AftermathMemory;

  constructor(given: Omit<Interruption, 'fault' | 'backend' | 'runs'>) {
    this.#given = { ...given, runs: new RepeatableRuns() };
    this.#memory = new AftermathMemory(given.stage);
  }

  /** Until the act runs through without meeting the fault; says what was wrong, and how many faults it met. */
  async run(
    fault: Omit<FaultOptions, 'failAt'>,
    options: LoopOptions = {},
  ): Promise<{ readonly failures: string[]; readonly firedCount: number }> {
    const failures: string[] = [];
    let firedCount = 0;
    const whole = await runInterrupted({ ...this.#given, fault });
    const { numbers, end } = chooseSteps(whole.faulty, fault.mode ?? 'error', options);
    for (const failAt of someOfEachKind(numbers, whole.faulty, fault.mode === 'crash')) {
      const { fired, found } = await this.#interrupt({ ...fault, failAt });
      assert(fired || failAt > end - UNREPEATABLE_OPERATIONS, `operation ${failAt} was never reached`);
      failures.push(...found.map((failure) => `operation ${failAt}: ${failure}`));
      if (!fired || (options.stopsAtFailure === true && failures.length > 0)) break;
      firedCount += 1;
    }
    return { failures, firedCount };
  }

  async #interrupt(fault: FaultOptions): Promise<{ readonly fired: boolean; readonly found: readonly string[] }> {
    const backend = this.#given.stage.backend.copy();
    const given = { ...this.#given, fault, backend };
    const { faulty, ending } = await runInterrupted(given);
    const at = faulty.operations[(fault.failAt ?? 0) - 1];
    const found = [
      ...judgeEnding(given, faulty, ending),
      ...(fault.mode === 'crash' ? [] : judgeLeavings(given, faulty, backend, ending)),
      ...(await this.#memory.examine(backend, expectationOf(given, ending))),
    ];
    return { fired: faulty.fired, found: found.map((failure) => `${at?.operation} ${at?.name}: ${failure}`) };
  }
}

/** Examines each state of a repository only once; in the suite, each in one of three ways. */
export class AftermathMemory {
  readonly #stage: Stage;
  readonly #known = new Map<string, readonly string[]>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async examine(backend: MemoryBackend, expected: Expectation): Promise<readonly string[]> {
    const key = fingerprint(backend) + JSON.stringify(expected);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const watched = new FaultyBackend(backend);
    const failures = await examineAftermath(watched, this.#stage, expected, partsAt(this.#known.size));
    failures.push(...readsOfLeavings(watched));
    this.#known.set(key, failures);
    return failures;
  }
}

/** Nothing may depend on the bytes of temporary files: `fingerprint` relies on it. */
function readsOfLeavings({ operations }: FaultyBackend): string[] {
  const reads = operations.filter(({ operation }) => operation === 'read' || operation === 'readRange');
  return reads.flatMap(({ name }) => (name.startsWith('tmp/') ? [`${name} was read`] : []));
}

/**
 * Of all names and bytes, without what is random in the names of locks, temporary files and checkpoints, and without
 * the bytes of temporary files: whether there are any is enough, since nobody reads them.
 */
export function fingerprint(backend: MemoryBackend): string {
  const files = backend.names().map((name) => {
    const content = backend.view(name);
    if (name.startsWith('tmp/')) return content.length === 0 ? 'tmp/ empty' : 'tmp/';
    return `${name.replace(/^(locks\/|filter\/\d+).*/, '$1')} ${digestOf(content)}`;
  });
  return files.sort().join('\n');
}

/** Copies of a disk share what is the same in all of them. */
const knownDigests = new WeakMap<Buffer, string>();

function digestOf(content: Buffer): string {
  const known = knownDigests.get(content);
  if (known !== undefined) return known;
  const digest = createHash('sha1').update(content).digest('hex');
  knownDigests.set(content, digest);
  return digest;
}
