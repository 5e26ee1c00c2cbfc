import type { Backend, NextReads } from '../backend/backend.ts';
import { BackendError } from '../errors.ts';
import type { BackendErrorKind } from '../errors.ts';
import type { OpenPlace } from '../backend/place-opener.ts';
import { RepositoryLock } from './locks/lock.ts';
import type { LockClock, LockMode } from './locks/lock.ts';
import type { LockOwner } from './locks/lock-owner.ts';
import { makingRoom } from './moves.ts';

/**
 * `read`: a shared lock, or no lock if the place is not writable, such as a read-only mount. `list`: the same, but no lock
 * on another machine, where it would take more requests than all the rest. `unlocked`: no lock. The last two are for what
 * copes with changes in between.
 */
export type AccessMode = LockMode | 'read' | 'list' | 'unlocked';

export interface AccessOptions {
  readonly backend: Backend;
  readonly mode: AccessMode;
  readonly lockWaitMs?: number | undefined;
  /** The owner recorded in locks. Default: this process. */
  readonly lockOwner?: LockOwner | undefined;
  /** Measures the waits for locks. Default: real time. */
  readonly lockClock?: LockClock | undefined;
  /** Called with the holder of a lock while this process waits for it. */
  readonly onWait?: ((holder: string) => void) | undefined;
  /** Called with the reason if the repository is read without a lock because its place is not writable. */
  readonly onUnlocked?: ((reason: string) => void) | undefined;
  /** Opens the places of groups, which are closed with the repository. Default: as for any directory or server. */
  readonly openPlace?: OpenPlace | undefined;
  /** A directory of this machine for everything that is written, except for locks; the repository is only read. */
  readonly scratchDirectory?: string | undefined;
  /** Whether the reserve is removed if there is no room for the lock: for commands that make room. */
  readonly freesReserve?: boolean | undefined;
  /** What is read as soon as there is a lock. */
  readonly nextReads?: NextReads | undefined;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** Why a repository can only be read. */
const NOT_WRITABLE: ReadonlyMap<BackendErrorKind, string> = new Map([
  ['read-only', 'its file system is read-only'],
  ['denied', 'this user may not write to it'],
  ['full', 'its storage is full, or its quota is used up'],
]);

/** Acquires the lock for a kind of access. Returns undefined if the repository can be read, but not locked. */
export async function acquireAccess(options: AccessOptions): Promise<RepositoryLock | undefined> {
  const { backend, mode, onUnlocked } = options;
  if (mode === 'unlocked' || (mode === 'list' && backend.traffic !== undefined)) return undefined;
  try {
    return await acquireWithReserve(options, mode === 'exclusive' ? 'exclusive' : 'shared');
  } catch (error) {
    const reason = isReading(mode) && error instanceof BackendError ? NOT_WRITABLE.get(error.kind) : undefined;
    if (reason === undefined) throw error;
    onUnlocked?.(reason);
    return undefined;
  }
}

/** In a store of objects, a lock needs some bytes. */
async function acquireWithReserve(options: AccessOptions, mode: LockMode): Promise<RepositoryLock> {
  const acquire = async (): Promise<RepositoryLock> => acquireLock(options, mode);
  return options.freesReserve === true ? await makingRoom(options.backend, acquire) : await acquire();
}

export function isReading(mode: AccessMode): boolean {
  return mode === 'read' || mode === 'list' || mode === 'unlocked';
}

export async function acquireLock(options: Omit<AccessOptions, 'mode'>, mode: LockMode): Promise<RepositoryLock> {
  const { backend, lockWaitMs: waitMs, lockOwner: owner, lockClock: clock, onWait, nextReads, signal } = options;
  return await RepositoryLock.acquire(backend, { mode, waitMs, owner, clock, onWait, nextReads, signal });
}
