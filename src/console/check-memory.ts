import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../core/files/target/replace-file.ts';
import { byteStringFromText } from '../core/util/byte-string.ts';
import { makeDirectories } from '../core/util/make-directories.ts';
import { xdgDirectory } from './settings/directories.ts';

/** What this machine remembers of the last check of a repository. */
export interface LastCheck {
  /** RFC 3339. */
  readonly time: string;
  /** Of the data, from 0 to 1. */
  readonly readShare: number;
  readonly errorCount: number;
}

/** Returns where this machine remembers checks; undefined if there is no home directory. */
export function checksDirectoryOf(environment: NodeJS.ProcessEnv): string | undefined {
  const state = xdgDirectory(environment, 'XDG_STATE_HOME', '.local/state');
  return state === undefined ? undefined : join(state, 'ldm', 'checks');
}

/** Remembers a check, for `doctor`. Nothing depends on it, so a failure is ignored. */
export function rememberCheck(directory: string | undefined, repositoryId: string, last: LastCheck): void {
  if (directory === undefined) return;
  const path = join(directory, `${repositoryId}.json`);
  try {
    makeDirectories(dirname(path), { mode: 0o700 });
    replaceFile(byteStringFromText(path), Buffer.from(`${JSON.stringify(last)}\n`), 0o600);
  } catch {
    // A read-only home directory, for example.
  }
}

/** Returns undefined if this machine remembers none. */
export function recallCheck(directory: string | undefined, repositoryId: string): LastCheck | undefined {
  if (directory === undefined) return undefined;
  try {
    const { time, readShare, errorCount } = JSON.parse(
      readFileSync(join(directory, `${repositoryId}.json`), 'utf8'),
    ) as Record<string, unknown>;
    const isValid = typeof time === 'string' && !Number.isNaN(Date.parse(time));
    return isValid && typeof readShare === 'number' && typeof errorCount === 'number'
      ? { time, readShare, errorCount }
      : undefined;
  } catch {
    return undefined;
  }
}
