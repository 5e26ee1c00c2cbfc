import { BackendError, CancelledError } from '../errors.ts';
import { assertEnoughOpenFiles } from '../files/open-files.ts';
import { Repository } from '../repository/repository.ts';
import type { AccessMode } from '../repository/access.ts';
import type { OpenRepositoryOptions } from '../repository/repository.ts';
import type { PathNode } from '../util/path-node.ts';
import type { Notice } from './notices.ts';

/** The progress of an operation. The operation updates the fields; a display reads them whenever it likes. */
export interface Progress {
  /** Set by the display. If false, the operation does not spend time on finding the totals. */
  isShown: boolean;
  phase: string;
  /** The unit of `filesDone` and `filesTotal`. Default: files. */
  unit?: 'file' | 'pack';
  filesDone: number;
  filesTotal: number | undefined;
  bytesDone: number;
  bytesTotal: number | undefined;
  /** Bytes written to the repository. */
  storedBytes: number;
  errorCount: number;
  /** The file being read. */
  currentFile: PathNode | undefined;
}

export function createProgress(): Progress {
  return {
    isShown: false,
    phase: '',
    filesDone: 0,
    filesTotal: undefined,
    bytesDone: 0,
    bytesTotal: undefined,
    storedBytes: 0,
    errorCount: 0,
    currentFile: undefined,
  };
}

/** Sets the name of the current phase. */
export function beginPhase(progress: Progress | undefined, phase: string): void {
  if (progress !== undefined) progress.phase = phase;
}

/** The environment of every operation. */
export interface OperationContext extends Pick<
  OpenRepositoryOptions,
  'backend' | 'lockOwner' | 'lockClock' | 'storeSizes' | 'threads'
> {
  /** How long to wait for a lock. Default: one minute, or 0 for an exclusive lock. */
  readonly lockWaitMs?: number | undefined;
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Returns a promise while the receiver of results and notices is too slow. Long operations wait for it. */
  readonly awaitOutput?: (() => Promise<void> | undefined) | undefined;
}

/** A backup that starts while a delete is reclaiming space must not fail because of the lock. */
const SHARED_WAIT_MS = 60_000;

/**
 * Runs `work` on an opened repository, and always releases the lock.
 */
export async function withRepository<T>(
  context: OperationContext,
  mode: AccessMode,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  assertEnoughOpenFiles();
  const { backend, lockOwner, lockClock, onNotice, storeSizes, threads, signal } = context;
  const lockWaitMs = context.lockWaitMs ?? (mode === 'exclusive' ? 0 : SHARED_WAIT_MS);
  const onWait = (holder: string): void => onNotice?.({ kind: 'lock-wait', holder });
  const onUnlocked = (reason: string): void => onNotice?.({ kind: 'read-without-lock', reason });
  const onDamagedCheckpoint = (name: string, reason: string): void =>
    onNotice?.({ kind: 'checkpoint-damaged', name, reason });
  const options = {
    backend,
    mode,
    lockWaitMs,
    lockOwner,
    lockClock,
    onWait,
    onUnlocked,
    onDamagedCheckpoint,
    storeSizes,
    threads,
    signal,
  };
  const repository = await Repository.open(options);
  let result: T;
  try {
    repository.throwIfAborted();
    result = await work(repository);
  } catch (error) {
    const reported = await repository.explain(error);
    // The first error is the one to report.
    await repository.close().catch(() => undefined);
    throw reported;
  }
  await repository.close().catch((error: unknown) => {
    if (!(error instanceof BackendError)) throw error;
    onNotice?.({ kind: 'lock-not-released', reason: error.message });
  });
  return result;
}

/** How long synchronous work may run before timers and signals are handled. */
const PAUSE_INTERVAL_MS = 10;

/** Interrupts long work so that timers and signal handlers can run, and so that slow readers of its output keep up. */
export class Pacer {
  readonly #signal: AbortSignal | undefined;
  readonly #awaitOutput: OperationContext['awaitOutput'];
  #nextMs = performance.now() + PAUSE_INTERVAL_MS;

  constructor({ signal, awaitOutput }: Pick<OperationContext, 'signal' | 'awaitOutput'>) {
    this.#signal = signal;
    this.#awaitOutput = awaitOutput;
  }

  /** Returns a promise if it is time for a pause: wait for it. Throws, or rejects with, the abort reason of the signal. */
  pause(): Promise<void> | undefined {
    this.throwIfAborted();
    const output = this.#awaitOutput?.();
    if (output !== undefined) return output.then(() => this.throwIfAborted());
    if (performance.now() < this.#nextMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#nextMs = performance.now() + PAUSE_INTERVAL_MS;
        resolve();
      });
    });
  }

  throwIfAborted(): void {
    if (this.#signal?.aborted !== true) return;
    const reason: unknown = this.#signal.reason;
    throw reason instanceof CancelledError ? reason : new CancelledError('SIGINT');
  }
}
