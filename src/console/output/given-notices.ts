import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { xdgDirectory } from '../settings/directories.ts';

/** After this time, a notice is given again. */
const REPEATED_AFTER_MS = 7 * 24 * 60 * 60_000;
const NOTICES_MAX = 1000;
const DIGEST = /^[0-9a-f]{32}$/;

/**
 * Returns whether this machine gave a notice in the last 7 days. If not, remembers that it is given now. `parts`: what it
 * is about, its kind and its words. Nothing depends on that memory: if it cannot be read or written, the notice is given.
 */
export function wasGiven(parts: readonly string[], environment: NodeJS.ProcessEnv = process.env): boolean {
  const state = xdgDirectory(environment, 'XDG_STATE_HOME', '.local/state');
  if (state === undefined) return false;
  const path = join(state, 'ldm', 'notices.json');
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
  const nowMs = Date.now();
  const given = readGiven(path, nowMs);
  if (given.has(digest)) return true;
  writeGiven(path, [...given, [digest, nowMs]]);
  return false;
}

/** Returns the times of the notices of the last 7 days by their digests. A time in the future is that of another clock. */
function readGiven(path: string, nowMs: number): Map<string, number> {
  try {
    const entries = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>);
    const isRecent = (time: unknown): time is number =>
      typeof time === 'number' && time <= nowMs && time > nowMs - REPEATED_AFTER_MS;
    return new Map(entries.flatMap(([key, time]) => (DIGEST.test(key) && isRecent(time) ? [[key, time]] : [])));
  } catch {
    return new Map();
  }
}

/** Of two commands at the same time, one may forget what the other has written, and give a notice once more. */
function writeGiven(path: string, given: readonly (readonly [string, number])[]): void {
  try {
    makeDirectories(dirname(path), { mode: 0o700 });
    const temporary = `${path}.new`;
    writeFileSync(temporary, `${JSON.stringify(Object.fromEntries(given.slice(-NOTICES_MAX)))}\n`, { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    // A read-only home directory, for example.
  }
}
