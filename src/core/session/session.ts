import { assertContext } from './arguments.ts';
import { BackendError } from '../errors.ts';
import { asCancelled } from '../util/cancellation.ts';
import { assertEnoughOpenFiles } from '../files/native/open-files.ts';
import { NEXT_READS, firstReads } from '../repository/next-reads.ts';
import { isReading } from '../repository/access.ts';
import type { AccessMode, AccessOptions } from '../repository/access.ts';
import type { OpenedConfig } from '../repository/config-file.ts';
import { Repository } from '../repository/repository.ts';
import { SHARED_WAIT_MS } from './context.ts';
import type { OperationContext } from './context.ts';
import { explainDeleted } from './deleted-snapshot.ts';
import { extension, extensionOf } from './extension.ts';
import type { BorrowedChunkReader } from './extension.ts';
import { groupReporter } from './group-reporter.ts';
import { assertPermitted, mayRemove } from './permissions.ts';
import type { Access } from './permissions.ts';
import { assertNotReplaced, memoryKey, rememberEncrypted, withRecovery } from './repository-memory.ts';
import { assertNotOlderThanGroups } from './newer-groups.ts';
import { RepositoryWatch } from './repository-watch.ts';
import { assertPasswordUsed, unlockerOf } from './unlock.ts';

/**
 * A repository that is opened for one operation. `openSession` unlocks its keys, permits the operation as soon as it knows
 * the configuration, takes the lock, and watches for an older state than this machine has seen. After the work, `announce`
 * tells others what has changed, and `close` releases the lock.
 */
class Session {
  readonly repository: Repository;
  readonly #context: OperationContext;
  readonly #access: Access;
  readonly #watch: RepositoryWatch | undefined;
  readonly #borrowed: BorrowedSource;
  readonly #reportGroups: () => void;

  constructor(
    context: OperationContext,
    access: Access,
    opened: { readonly repository: Repository; readonly keyId: string | undefined; readonly borrowed: BorrowedSource },
  ) {
    const { memory, backend } = context;
    const { repository, keyId } = opened;
    this.repository = repository;
    this.#context = context;
    this.#access = access;
    this.#borrowed = opened.borrowed;
    this.#reportGroups = groupReporter(repository, context.onNotice);
    const isOwnServer = backend.isOwnServer === true;
    this.#watch = memory && new RepositoryWatch({ memory, place: backend.location, repository, keyId, isOwnServer });
  }

  /** Compares what is there with what this machine remembers. */
  async watch(): Promise<void> {
    const { onNotice, acceptsOlderState = false } = this.#context;
    this.repository.throwIfAborted();
    this.#reportGroups();
    if (this.#mayWrite) reportClock(this.#context);
    const command = {
      isExclusive: this.#access === 'exclusive',
      mayRemove: mayRemove(this.#access),
      isAccepted: acceptsOlderState !== false,
    };
    await this.#watch?.begin(command, (older) => onNotice?.({ kind: 'older-state', ...older }));
    if (command.mayRemove && !command.isAccepted) await assertNotOlderThanGroups(this.repository);
  }

  /** Tells the other members, the groups and the memory of this machine what has changed. */
  async announce(): Promise<void> {
    this.#reportGroups();
    const { repository } = this;
    const staleness = await repository.staleness();
    if (staleness !== undefined) throw staleness;
    if (!this.#mayWrite) return;
    await extensionOf(repository)?.afterChange(this.#context, repository);
    await repository.groups?.copyMetadata?.(repository.assertLocked).finally(this.#reportGroups);
    const onlyAdds = this.#access === 'add';
    await this.#watch?.end({ isAccepted: this.#context.acceptsOlderState === true, onlyAdds });
  }

  /** Releases everything after a failure. Returns the error to report. */
  async fail(failure: unknown): Promise<unknown> {
    this.#reportGroups();
    const explained = await explainDeleted(this.repository.files, failure);
    const reported = await this.repository.explain(explained);
    await this.#watch?.settled;
    // The first error is the one to report.
    await this.repository.close().catch(() => undefined);
    await this.#borrowed.close();
    return reported;
  }

  async close(): Promise<void> {
    await this.#borrowed.close();
    await Promise.all([this.#watch?.settled, this.#release()]);
  }

  async #release(): Promise<void> {
    await this.repository.close().catch((error: unknown) => {
      if (!(error instanceof BackendError)) throw error;
      this.#context.onNotice?.({ kind: 'lock-not-released', reason: error.message });
    });
  }

  get #mayWrite(): boolean {
    return !isReading(lockModeOf(this.#access));
  }
}

/** Opens a repository. The caller closes the session. */
async function openSession(context: OperationContext, access: Access): Promise<Session> {
  assertEnoughOpenFiles();
  const { onNotice, storeSizes, limits, threads } = context;
  let config: OpenedConfig | undefined;
  const onConfig = (opened: OpenedConfig): void => {
    permit(context, access, opened);
    config = opened;
  };
  const borrowed = new BorrowedSource(context, () => repository);
  const repository = await Repository.open({
    ...accessOptions(context, lockModeOf(access)),
    firstReads: { ...firstReads(knownKeys(context)), isOwnServer: wasOwnServer(context) },
    nextReads: NEXT_READS.get(access),
    unlock: unlockerOf(context)?.unlock,
    onConfig,
    freesReserve: access === 'shared' || access === 'exclusive',
    onDamagedCheckpoint: (name, reason) => onNotice?.({ kind: 'checkpoint-damaged', name, reason }),
    fetchBorrowed: async (id, domainId) => borrowed.fetch(id, domainId),
    storeSizes,
    limits,
    threads,
    packNotes: {
      onNaming: (packId) => context.memory?.noteWritten(...memoryKey(context, repository), packId),
      onIndexing: (packIds) => context.memory?.forgetWritten(...memoryKey(context, repository), packIds),
    },
  });
  const session = new Session(context, access, { repository, keyId: config?.keyId, borrowed });
  try {
    await session.watch();
  } catch (error) {
    throw await session.fail(error);
  }
  return session;
}

/** Runs `work` on an opened repository, and always releases the lock. */
export async function withRepository<T>(
  context: OperationContext,
  access: Access,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  assertContext(context);
  const { signal } = context;
  const session = await openSession(context, access).catch((error: unknown) => {
    throw asCancelled(signal, withRecovery(context, error));
  });
  let result: T;
  try {
    result = await work(session.repository);
    await session.announce();
  } catch (error) {
    throw await session.fail(asCancelled(signal, error));
  }
  await session.close();
  return result;
}

/** Whether this is the repository that is meant, and may be used in this way. Called before anything is written. */
function permit(context: OperationContext, access: Access, opened: OpenedConfig): void {
  const { repositoryId, encryption } = opened.config;
  const isEncrypted = encryption !== undefined;
  assertNotReplaced(context, { repositoryId, isEncrypted, epoch: opened.epoch });
  if (isEncrypted) rememberEncrypted(context, { repositoryId, epoch: opened.epoch });
  else assertPasswordUsed(context, access);
  const isServerAppendOnly = context.backend.isAppendOnly === true;
  const overridesAppendOnly = context.overridesAppendOnly === true;
  assertPermitted(access, opened, { overridesAppendOnly, isServerAppendOnly });
}

/** The key files that have opened repositories here before. */
function knownKeys({ memory, backend }: OperationContext): string[] {
  return memory?.seenAt(backend.location).flatMap(({ keyId }) => keyId ?? []) ?? [];
}

function wasOwnServer({ memory, backend }: OperationContext): boolean {
  return memory?.seenAt(backend.location).some(({ isOwnServer }) => isOwnServer === true) === true;
}

function lockModeOf(access: Access): AccessMode {
  return access === 'add' ? 'shared' : access;
}

/** Returns the options for the lock of an operation. */
export function accessOptions(context: OperationContext, mode: AccessMode): AccessOptions {
  const { backend, lockOwner, lockClock, openPlace, scratchDirectory, onNotice, signal } = context;
  return {
    backend,
    mode: context.readsUnlocked === true && isReading(mode) ? 'unlocked' : mode,
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

/** Chunks that other domains keep. Connects when the first one is needed. */
class BorrowedSource {
  readonly #context: OperationContext;
  readonly #repository: () => Repository;
  #reader: Promise<BorrowedChunkReader> | undefined;

  constructor(context: OperationContext, repository: () => Repository) {
    this.#context = context;
    this.#repository = repository;
  }

  async fetch(id: Uint8Array, domainId: string): Promise<Uint8Array> {
    this.#reader ??= extension().openBorrowed(this.#context, this.#repository());
    return await (await this.#reader).fetch(id, domainId);
  }

  /** What kept the reader from opening was reported by `fetch`, and must not keep the lock from being released. */
  async close(): Promise<void> {
    const reader = await this.#reader?.catch(() => undefined);
    await reader?.close();
  }
}

/** Small differences are usual, and harm nothing. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** Snapshots are dated, and retention is applied, by the clock of this machine. */
function reportClock({ backend, onNotice }: OperationContext): void {
  const aheadMs = backend.clockAheadMs?.() ?? 0;
  if (Math.abs(aheadMs) > CLOCK_TOLERANCE_MS) onNotice?.({ kind: 'clocks-differ', aheadMs });
}
