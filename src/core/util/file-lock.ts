import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { loadCLibrary } from './system-library.ts';

const LOCK_EXCLUSIVE = 2;
const LOCK_WITHOUT_WAITING = 4;

/** Lets the next process have the lock. */
export type Unlock = () => void;

/**
 * Takes a lock that the system releases when this process ends, in whatever way (flock(2)). Creates the file, which
 * stays. Returns undefined if another process has the lock.
 * @throws Error if the file cannot be opened or the system has no such locks
 */
export function tryLockFile(path: string): Unlock | undefined {
  const library = loadCLibrary();
  const flock = library.bind('int flock(int descriptor, int operation)');
  const descriptor = openSync(path, 'a', 0o600);
  if ((flock(descriptor, LOCK_EXCLUSIVE | LOCK_WITHOUT_WAITING) as number) === 0) return () => closeSync(descriptor);
  const errno = library.errno();
  closeSync(descriptor);
  if (errno === constants.errno.EWOULDBLOCK) return undefined;
  throw new Error(`flock ${path}: errno ${errno}`);
}
