import type { Backend } from '../../backend/backend.ts';
import { BackendError, RefusedError, RepositoryLockedError } from '../../errors.ts';
import type { ErrorDetails } from '../../errors.ts';
import { isOwnName } from '../../format/own-names.ts';
import { decodeLockName } from './lock-name.ts';
import type { LockMode, LockName } from './lock-name.ts';
import { ownerState } from './lock-owner.ts';
import type { LockOwner, OwnerState } from './lock-owner.ts';
import { STALE_AFTER_MS, STALE_AFTER_OTHER_BOOT_MS } from './lock-watch.ts';
import type { HeartbeatWatch } from './lock-watch.ts';

export const LOCK_DIRECTORY = 'locks';

/** Why a lock cannot be acquired now. */
export interface LockConflict {
  /** A description of the holder of the other lock. */
  readonly holder: string;
  /** What to do about it. */
  readonly help: ErrorDetails;
  /** Whether the holder belongs to another boot of this machine. Such a lock is taken over within minutes. */
  readonly isOtherBoot: boolean;
}

interface LockSearch {
  readonly backend: Backend;
  readonly mode: LockMode;
  readonly self: LockOwner;
  readonly watch: HeartbeatWatch;
  /** Locks that this process released but could not remove. */
  readonly abandoned: ReadonlySet<string>;
  readonly nowMs: number;
  /** The lock files that the searching process has created so far. */
  readonly ownNames: readonly string[];
}

/** Returns the first lock that conflicts, or undefined. Removes the locks of dead holders. */
export async function findLockConflict(search: LockSearch, isRepeated = false): Promise<LockConflict | undefined> {
  let conflict: LockConflict | undefined;
  const names = await listLocks(search);
  for (const name of names) {
    if (search.ownNames.includes(name)) continue;
    const found = await judgeLock(search, name);
    // A damaged name may say that a lock is dead that is in use under another one.
    if (found === 'gone' && !isRepeated) return await findLockConflict(search, true);
    if (found !== undefined && found !== 'gone' && conflict?.isOtherBoot !== false) conflict = found;
  }
  // A listing without our own lock may lack other locks too. Then two holders would not notice each other.
  if (search.ownNames.some((name) => !names.has(name))) throw lostLockError(search.backend);
  return conflict;
}

/**
 * Returns the names of locks. Whatever else is there, another program has left, such as a file manager, a network file
 * system, or one that synchronizes directories. But a name in a damaged answer may have been that of a lock, so such a
 * directory is listed once more, and a lock in either of the listings counts.
 */
async function listLocks({ backend, ownNames }: LockSearch): Promise<Set<string>> {
  const list = async (): Promise<string[]> => {
    const files = await backend.list(LOCK_DIRECTORY);
    return files.filter(({ isForeign }) => isForeign !== true).map(({ name }) => name);
  };
  const first = await list();
  const isOdd = ownNames.some((name) => !first.includes(name)) || !first.every((name) => isOwnName(name));
  return new Set([...first, ...(isOdd ? await list() : [])].filter((name) => isOwnName(name)));
}

async function judgeLock(search: LockSearch, name: string): Promise<LockConflict | 'gone' | undefined> {
  const lock = decodeLockName(name.slice(LOCK_DIRECTORY.length + 1));
  if (lock === undefined) return undefined;
  const state = search.abandoned.has(lock.nonce) ? 'dead' : ownerState(lock.owner, search.self);
  if (state === 'dead' && (await search.backend.sizeOf(name)) === undefined) return 'gone';
  if (state === 'dead' || (await isStale(search, name, state))) {
    const removal = search.backend.release(name);
    // A dead holder does nothing more, so its lock may stay. A stale one may only be suspended: that its lock is gone
    // tells it to stop.
    await (state === 'dead' ? removal.catch(unlessDenied) : removal);
    return undefined;
  }
  if (search.mode === 'shared' && lock.mode === 'shared') return undefined;
  const isOtherBoot = state === 'other-boot';
  const origin = isOtherBoot ? ', left from before this machine was restarted or held by a clone of it' : '';
  const help = { advice: { code: state === 'unknown' ? 'take-over-lock' : 'wait-for-lock' } } as const;
  return { holder: describeHolder(lock) + origin, help, isOtherBoot };
}

/** Storage may let a user create files, and not remove them. */
export function unlessDenied(error: unknown): void {
  if (!(error instanceof BackendError) || error.kind !== 'denied') throw error;
}

/** A holder whose process is not visible counts as dead if its heartbeat has not changed for long enough. */
async function isStale({ watch, nowMs }: LockSearch, name: string, state: OwnerState): Promise<boolean> {
  if (state !== 'unknown' && state !== 'other-boot') return false;
  const limitMs = state === 'unknown' ? STALE_AFTER_MS : STALE_AFTER_OTHER_BOOT_MS;
  return (await watch.unchangedMs(name, nowMs)) >= limitMs;
}

export function lockedError(backend: Backend, conflict: LockConflict): RepositoryLockedError {
  return new RepositoryLockedError(`repository ${backend.location} is locked by ${conflict.holder}`, conflict.help);
}

export function lostLockError(backend: Backend): RefusedError {
  return new RefusedError(`the lock of this process in the repository ${backend.location} is gone`, {
    hint: 'Another process may have taken it over while this machine was suspended. Run the command again.',
  });
}

function describeHolder({ mode, owner }: LockName): string {
  const what =
    mode === 'exclusive'
      ? 'exclusively, as compact and repair do'
      : 'shared with others, as backup, restore and mount do';
  return `process ${owner.pid} on host ${printable(owner.host)} (${what})`;
}

/** Escapes a text from a file name that another machine chose, so that no control character reaches a terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}
