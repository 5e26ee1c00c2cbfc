import { BackendError, CancelledError } from '../errors.ts';
import { assertEnoughOpenFiles } from '../files/native/open-files.ts';
import { Repository } from '../repository/repository.ts';
import { Unlocker } from '../repository/keys/unlocker.ts';
import type { UnlockedRepositories } from '../repository/keys/unlocker.ts';
import { isReading } from '../repository/access.ts';
import type { AccessMode, AccessOptions } from '../repository/access.ts';
import type { OpenedConfig } from '../repository/config-file.ts';
import type { OpenRepositoryOptions } from '../repository/open-options.ts';
import type { Progress } from './progress.ts';
import { assertPasswordUsed, unlockOptions, withPassword } from './unlock.ts';
import { groupReporter } from './group-reporter.ts';
import { extension } from './extension.ts';
import type { BorrowedChunkReader } from './extension.ts';
import type { Notice } from './notices.ts';
import { assertPermitted, mayRemove } from './permissions.ts';
import type { Access } from './permissions.ts';
import { assertNotReplaced, rememberEncrypted } from './repository-memory.ts';
import type { RepositoryMemory } from './repository-memory.ts';
import { RepositoryWatch } from './repository-watch.ts';

export { beginPhase, createProgress } from './progress.ts';
export type { Progress, RestoreProgress } from './progress.ts';

/** Where the password of an encrypted repository comes from. */
export interface PasswordSource {
  /** Whether the user has named a source. If not, somebody may be asked, who may also mistype. */
  readonly isConfigured: boolean;
  /** Whether the user has given it for this repository, and not for all. */
  readonly isForThisRepository?: boolean;
  /** Whether nothing may be changed in a repository that is not encrypted. Default: it is used where it is needed. */
  readonly meansEncryption?: boolean;
  /**
   * Returns the password. The caller fills it with zeros after use.
   * @throws NoPasswordError
   */
  read(): Promise<Uint8Array>;
  /** The same for a password that is not in use yet. A user who types it must type it twice. */
  readNew(): Promise<Uint8Array>;
}

/** The environment of every operation. */
export interface OperationContext extends Pick<
  OpenRepositoryOptions,
  'backend' | 'lockOwner' | 'lockClock' | 'openPlace' | 'scratchDirectory' | 'storeSizes' | 'threads'
> {
  /** How long to wait for a lock. Default: one minute, or 0 for an exclusive lock. */
  readonly lockWaitMs?: number | undefined;
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Only asked if the repository is encrypted. */
  readonly password?: PasswordSource | undefined;
  /** Changes even an append-only repository. */
  readonly overridesAppendOnly?: boolean | undefined;
  /**
   * Removes something even if this machine has seen a newer state of the repository, and forgets that state. `once`: does
   * not forget it.
   */
  readonly acceptsOlderState?: boolean | 'once' | undefined;
  /** Remembers repositories. Default: nothing is remembered. */
  readonly memory?: RepositoryMemory | undefined;
  /** Returns a promise while the receiver of results and notices is too slow. Long operations wait for it. */
  readonly awaitOutput?: (() => Promise<void> | undefined) | undefined;
}

/** What each source has opened, so that a command that opens a repository twice asks for its password once. */
const unlockedBy = new WeakMap<PasswordSource, UnlockedRepositories>();

function unlockerOf(context: OperationContext): Unlocker | undefined {
  const { password, memory } = context;
  if (password === undefined) return undefined;
  const firstOf = (place: string, repositoryId: string): string | undefined =>
    memory?.recall(place, repositoryId)?.keyId;
  const unlocked: UnlockedRepositories = unlockedBy.get(password) ?? new Map();
  unlockedBy.set(password, unlocked);
  return new Unlocker(async (use) => withPassword(context, use), { ...unlockOptions(context), firstOf, unlocked });
}

/** The second repository of an operation, and how to open it. Everything else is as for the first. */
export type OtherRepository = Pick<OperationContext, 'backend' | 'password'>;

/** Returns the context for one of two repositories: its notices say which one they are about. */
export function contextAt(context: OperationContext, other: OtherRepository = context): OperationContext {
  const { onNotice } = context;
  const place = other.backend.location;
  return { ...context, ...other, onNotice: onNotice && ((notice) => onNotice({ ...notice, place })) };
}

/** A backup that starts while a delete is reclaiming space must not fail because of the lock. */
const SHARED_WAIT_MS = 60_000;

/** Runs `work` on an opened repository, and always releases the lock. */
export async function withRepository<T>(
  context: OperationContext,
  access: Access,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  assertEnoughOpenFiles();
  const { onNotice, storeSizes, threads } = context;
  const onDamagedCheckpoint = (name: string, reason: string): void =>
    onNotice?.({ kind: 'checkpoint-damaged', name, reason });
  const unlock = unlockerOf(context)?.unlock;
  const mode = access === 'add' ? 'shared' : access;
  let opened: OpenedConfig | undefined;
  const onConfig = (given: OpenedConfig): void => {
    const { repositoryId, encryption } = given.config;
    const isEncrypted = encryption !== undefined;
    assertNotReplaced(context, { repositoryId, isEncrypted, epoch: given.epoch });
    if (isEncrypted) rememberEncrypted(context, { repositoryId, epoch: given.epoch });
    else assertPasswordUsed(context, access);
    const isServerAppendOnly = context.backend.isAppendOnly === true;
    assertPermitted(access, given, { overridesAppendOnly: context.overridesAppendOnly === true, isServerAppendOnly });
    opened = given;
  };
  let borrowed: Promise<BorrowedChunkReader> | undefined;
  const fetchBorrowed = async (id: Uint8Array, domainId: string): Promise<Uint8Array> => {
    borrowed ??= extension().openBorrowed(context, repository);
    return await (await borrowed).fetch(id, domainId);
  };
  const given = { onDamagedCheckpoint, storeSizes, threads, unlock, onConfig, fetchBorrowed };
  const freesReserve = access === 'shared' || access === 'exclusive';
  const options = { ...accessOptions(context, mode), ...given, freesReserve };
  const repository = await Repository.open(options);
  const reportGroups = groupReporter(repository, onNotice);
  let result: T;
  try {
    repository.throwIfAborted();
    reportGroups();
    if (!isReading(mode)) reportClock(context);
    const watch = watchOf(context, repository, opened?.keyId);
    const command = {
      isExclusive: mode === 'exclusive',
      mayRemove: mayRemove(access),
      isAccepted: (context.acceptsOlderState ?? false) !== false,
    };
    await watch?.begin(command, (older) => onNotice?.({ kind: 'older-state', ...older }));
    result = await work(repository).finally(reportGroups);
    const staleness = await repository.staleness();
    if (staleness !== undefined) throw staleness;
    if (!isReading(mode) && repository.config.realmId !== undefined) await extension().afterChange(context, repository);
    if (!isReading(mode)) await repository.groups?.copyMetadata?.(repository.assertLocked).finally(reportGroups);
    if (!isReading(mode)) await watch?.end(context.acceptsOlderState === true);
  } catch (error) {
    const reported = await repository.explain(error);
    // The first error is the one to report.
    await repository.close().catch(() => undefined);
    throw reported;
  } finally {
    await (await borrowed)?.close();
  }
  await repository.close().catch((error: unknown) => {
    if (!(error instanceof BackendError)) throw error;
    onNotice?.({ kind: 'lock-not-released', reason: error.message });
  });
  return result;
}

/** Small differences are usual, and harm nothing. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** Snapshots are dated, and retention is applied, by the clock of this machine. */
function reportClock({ backend, onNotice }: OperationContext): void {
  const aheadMs = backend.clockAheadMs?.() ?? 0;
  if (Math.abs(aheadMs) > CLOCK_TOLERANCE_MS) onNotice?.({ kind: 'clocks-differ', aheadMs });
}

/** For operations that find or repair damage: they must see what is stored, not copies of it on this machine. */
export function uncachedContext(context: OperationContext): OperationContext {
  return { ...context, backend: context.backend.uncached ?? context.backend };
}

/** For short changes under the exclusive lock: they wait like a command with a shared one. */
export function waitingContext(context: OperationContext): OperationContext {
  return { ...context, lockWaitMs: context.lockWaitMs ?? SHARED_WAIT_MS };
}

/** Returns the options for the lock of an operation. */
export function accessOptions(context: OperationContext, mode: AccessMode): AccessOptions {
  const { backend, lockOwner, lockClock, openPlace, scratchDirectory, onNotice, signal } = context;
  return {
    backend,
    mode,
    lockWaitMs: context.lockWaitMs ?? (mode === 'exclusive' ? 0 : SHARED_WAIT_MS),
    lockOwner,
    lockClock,
    openPlace,
    scratchDirectory,
    onWait: (holder) => onNotice?.({ kind: 'lock-wait', holder }),
    onUnlocked: (reason) => onNotice?.({ kind: 'read-without-lock', reason }),
    signal,
  };
}

function watchOf(
  { memory, backend }: OperationContext,
  repository: Repository,
  keyId: string | undefined,
): RepositoryWatch | undefined {
  if (memory === undefined) return undefined;
  return new RepositoryWatch({ memory, place: backend.location, repository, keyId });
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
