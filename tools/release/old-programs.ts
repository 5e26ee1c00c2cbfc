/**
 * Removes what other versions of the single executable have unpacked. The modification time of a directory says when its
 * program last ran, to the day: a start or a running program renews it. Only a stale time needs the lock, so most starts
 * take none: the time of a program that starts is never stale while another process may remove its directory.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DAY_MS = 86_400_000;
const UNUSED_MS = 30 * DAY_MS;
/** Version and digest, as in the list of the files. */
const PROGRAM_NAME = /^\d+\.\d+\.\d+[\w.+-]*-[0-9a-f]{16}$/;
/** What is being removed. Left by a process that was killed meanwhile. */
const REMOVED = '.old-';
const LOCK = '.lock';
/** A process holds the lock for some renames only. */
const LOCK_MS = 10_000;
const RETRY_MS = 20;

/**
 * Call this before the files in the directory of a program are used, and at least once a day while it runs. A place that
 * cannot be written to only keeps what is in it.
 */
export function keepProgram(directory: string, nowMs: number, wait: () => void = pause): void {
  const place = dirname(directory);
  try {
    if (nowMs - mtimeOf(directory, -Infinity) < DAY_MS) return;
    const removed = locked(place, wait, () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      utimesSync(directory, nowMs / 1000, nowMs / 1000);
      return setUnusedAside(place, nowMs);
    });
    for (const each of removed) rmSync(each, { recursive: true, force: true });
  } catch {
    // The program runs all the same.
  }
}

/** Returns the directories with what can be removed. */
function setUnusedAside(place: string, nowMs: number): string[] {
  const names = readdirSync(place);
  const unused = names.filter(
    (name) => PROGRAM_NAME.test(name) && nowMs - mtimeOf(join(place, name), Infinity) > UNUSED_MS,
  );
  const left = names.filter((name) => name.startsWith(REMOVED)).map((name) => join(place, name));
  if (unused.length === 0) return left;
  const aside = mkdtempSync(join(place, REMOVED));
  for (const name of unused) renameSync(join(place, name), join(aside, name));
  return [...left, aside];
}

/** A lock that is older than what is done with it is that of a process that was killed. */
function locked<T>(place: string, wait: () => void, act: () => T): T {
  const lock = join(place, LOCK);
  while (!isTaken(lock)) {
    if (Date.now() - mtimeOf(lock, Infinity) > LOCK_MS) release(lock);
    else wait();
  }
  try {
    return act();
  } finally {
    release(lock);
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
}

function isTaken(lock: string): boolean {
  try {
    mkdirSync(lock, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function release(lock: string): void {
  rmSync(lock, { recursive: true, force: true });
}

function mtimeOf(path: string, absentMs: number): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? absentMs;
}
