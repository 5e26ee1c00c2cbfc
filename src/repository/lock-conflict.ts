import type { Backend } from '../backend/backend.ts';
import { RefusedError, RepositoryLockedError } from '../errors.ts';
import { decodeLockName } from './lock-name.ts';
import type { LockMode, LockName } from './lock-name.ts';
import { ownerState } from './lock-owner.ts';
import type { LockOwner } from './lock-owner.ts';
import type { HeartbeatWatch } from './lock-watch.ts';

export const LOCK_DIRECTORY = 'locks';

/** Why a lock cannot be had now. */
export interface LockConflict {
  /** Who is in the way, in words. */
  readonly holder: string;
  readonly hint: string;
}

export interface LockSearch {
  readonly backend: Backend;
  readonly mode: LockMode;
  readonly self: LockOwner;
  readonly watch: HeartbeatWatch;
  /** Locks that this process gave back but could not remove. */
  readonly abandoned: ReadonlySet<string>;
  readonly nowMs: number;
  /** The lock file of the searcher, if it has made it already. */
  readonly ownName: string | undefined;
}

/** The first lock that conflicts, or undefined. Removes the locks of dead holders on the way. */
export async function findLockConflict(search: LockSearch): Promise<LockConflict | undefined> {
  let conflict: LockConflict | undefined;
  let isOwnListed = search.ownName === undefined;
  for (const { name } of await search.backend.list(LOCK_DIRECTORY)) {
    if (name === search.ownName) isOwnListed = true;
    else conflict = (await judgeLock(search, name)) ?? conflict;
  }
  // A listing that leaves out one lock may leave out others, and then two holders would not see each other.
  if (!isOwnListed) throw lostLockError(search.backend);
  return conflict;
}

async function judgeLock(search: LockSearch, name: string): Promise<LockConflict | undefined> {
  const fileName = name.slice(LOCK_DIRECTORY.length + 1);
  // Left by file managers and network file systems (.DS_Store, .nfs...): a lock never begins with a dot.
  if (fileName.startsWith('.')) return undefined;
  const lock = decodeLockName(fileName);
  if (lock === undefined) return unknownFileConflict(name);
  const state = search.abandoned.has(lock.nonce) ? 'dead' : ownerState(lock.owner, search.self);
  const isStale = state === 'dead' || (state === 'unknown' && (await search.watch.standsStill(name, search.nowMs)));
  if (isStale) {
    await search.backend.remove(name);
    return undefined;
  }
  if (search.mode === 'shared' && lock.mode === 'shared') return undefined;
  return { holder: describeHolder(lock), hint: state === 'unknown' ? WAIT_LONG_HINT : WAIT_HINT };
}

export function lockedError(backend: Backend, conflict: LockConflict): RepositoryLockedError {
  return new RepositoryLockedError(`the repository ${backend.location} is locked by ${conflict.holder}`, {
    hint: conflict.hint,
  });
}

export function lostLockError(backend: Backend): RefusedError {
  return new RefusedError(
    `the lock of this process in the repository ${backend.location} is gone: nothing was committed`,
    { hint: 'It may have been taken for dead while this machine was suspended. Run the command again.' },
  );
}

const WAIT_HINT = 'Run the command again when that is done, or let it wait with --lock-wait 10m.';
const WAIT_LONG_HINT =
  'Whether that process still runs cannot be seen from here. If it is dead, --lock-wait 35m takes the lock over: a heartbeat that stands still for 30 minutes is the proof.';

function describeHolder({ mode, owner }: LockName): string {
  const what = mode === 'exclusive' ? 'exclusive, as for compact or repair' : 'shared, as for backup or restore';
  return `process ${owner.pid} on host ${printable(owner.host)} (${what})`;
}

function unknownFileConflict(name: string): LockConflict {
  return {
    holder: `the file ${printable(name)}, which is no lock that this version of ldm knows`,
    hint: 'If no other version of ldm uses the repository, remove that file.',
  };
}

/** The text comes from a name that another machine chose: no control character of it may reach a terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}
