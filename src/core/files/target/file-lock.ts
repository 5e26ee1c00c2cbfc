import { closeSync, openSync, rmSync } from 'node:fs';
import { errnoOf } from '../paths/path-failures.ts';

const INTERVAL_MS = 5;
/** Far longer than anything that is done under such a lock: its process was killed. */
const STALE_MS = 2000;

/**
 * Runs `act` while no other process runs it for the same path: a file beside it is the lock. A lock that stays for two
 * seconds is taken over although its process may still run, so this is only for what may be lost.
 */
export function exclusively<T>(path: string, act: () => T): T {
  const lock = `${path}.lock`;
  const endMs = performance.now() + STALE_MS;
  while (!tryLock(lock) && performance.now() < endMs) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, INTERVAL_MS);
  }
  try {
    return act();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    return false;
  }
}
