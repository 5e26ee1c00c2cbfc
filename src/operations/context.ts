import type { Backend } from '../backend/backend.ts';
import { BackendError, CancelledError } from '../errors.ts';
import { Repository } from '../repository/repository.ts';
import type { AccessMode } from '../repository/repository.ts';
import type { LockClock } from '../repository/lock.ts';
import type { LockOwner } from '../repository/lock-owner.ts';
import type { StoreSizes } from '../store/store-sizes.ts';
import type { ByteString } from '../util/byte-string.ts';
import { openZstd } from '../workers/zstd.ts';
import type { PathNode } from '../util/path-node.ts';

/** How far an operation is. It writes the fields as it goes; a display reads them at its own pace. */
export interface Progress {
  /** Set by the display: whether the totals are worth some work to find out. */
  isShown: boolean;
  phase: string;
  /** What `filesDone` and `filesTotal` count; files by default. */
  unit?: 'file' | 'pack';
  filesDone: number;
  filesTotal: number | undefined;
  bytesDone: number;
  bytesTotal: number | undefined;
  /** Bytes written to the repository. */
  storedBytes: number;
  errorCount: number;
  /** The file that is being read. */
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

/** Something that a person should know while the operation runs. A `note` is less than a warning: nothing is wrong. */
export interface Notice {
  readonly kind: 'lock-wait' | 'source-problem' | 'warning' | 'note' | 'info';
  readonly message: string;
  readonly path?: ByteString;
  readonly during?: string;
}

/** Names what is being done now. */
export function beginPhase(progress: Progress | undefined, phase: string): void {
  if (progress !== undefined) progress.phase = phase;
}

/** What every operation works with. */
export interface OperationContext {
  readonly backend: Backend;
  /** How long to wait for a lock. By default a minute for what may run beside others, else not at all. */
  readonly lockWaitMs?: number | undefined;
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Who the locks say holds them; this process by default. */
  readonly lockOwner?: LockOwner | undefined;
  /** Measures the waits for locks; real time by default. */
  readonly lockClock?: LockClock | undefined;
  /** Of the blocks, packs and segments that are written; what is there may have any. */
  readonly storeSizes?: StoreSizes | undefined;
}

/** A backup that starts while a delete is giving space back must not fail for it. */
const SHARED_WAIT_MS = 60_000;

/**
 * Runs `work` on an opened repository and gives the lock back whatever happens. Without a decompressor it opens none:
 * later the missing program part could be mistaken for damage.
 */
export async function withRepository<T>(
  context: OperationContext,
  mode: AccessMode,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  const { backend, lockOwner, lockClock, onNotice, storeSizes, signal } = context;
  const lockWaitMs = context.lockWaitMs ?? (mode === 'exclusive' ? 0 : SHARED_WAIT_MS);
  const onWait = (holder: string): void =>
    onNotice?.({ kind: 'lock-wait', message: `waiting for the lock held by ${holder}` });
  const onUnlocked = (reason: string): void =>
    onNotice?.({ kind: 'warning', message: `reading without a lock (${reason}); do not run compact at the same time` });
  const onDamagedCheckpoint = (name: string, reason: string): void =>
    onNotice?.({
      kind: 'warning',
      message: `${name} is damaged and was not used (${reason}). Nothing is lost, but commands start slower; run \`ldm repair\``,
    });
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
    signal,
  };
  openZstd();
  const repository = await Repository.open(options);
  let result: T;
  try {
    repository.throwIfAborted();
    result = await work(repository);
  } catch (error) {
    // The first error is the one to report.
    await repository.close().catch(() => undefined);
    throw error;
  }
  await repository.close().catch((error: unknown) => {
    if (!(error instanceof BackendError)) throw error;
    // The work is done. Once this process has ended, others can tell that its lock is abandoned.
    onNotice?.({ kind: 'warning', message: `the lock could not be released: ${error.message}` });
  });
  return result;
}

/** How long a run of synchronous work may last before timers and signals get their turn. */
const PAUSE_INTERVAL_MS = 10;

/** Lets timers and signal handlers run now and then in the middle of synchronous work. */
export class Pacer {
  readonly #signal: AbortSignal | undefined;
  #nextMs = performance.now() + PAUSE_INTERVAL_MS;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** A promise when it is time for a pause; otherwise go on. Throws the signal's reason once it is aborted. */
  pause(): Promise<void> | undefined {
    this.throwIfAborted();
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
