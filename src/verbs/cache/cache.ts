import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertArgument } from '../../core/session/arguments.ts';
import { KEPT_ANSWERS_NAME } from '../../console/settings/directories.ts';

/** What this machine keeps of one repository on another machine. */
export interface CachedRepositoryFiles {
  readonly repositoryId: string;
  readonly path: string;
  readonly files: number;
  readonly sizeBytes: number;
  /** When a file was added or used, in ISO 8601; undefined if there is none. */
  readonly lastUsed: string | undefined;
}

const REPOSITORY_ID = /^[0-9a-f]{64}$/;

/** Returns the caches in a directory, which need not exist. */
export function listCaches(directory: string): CachedRepositoryFiles[] {
  assertArgument('directory', directory, 'text!');
  return namesIn(directory)
    .filter((name) => REPOSITORY_ID.test(name))
    .toSorted()
    .map((repositoryId) => measure(repositoryId, join(directory, repositoryId)));
}

/** Removes all caches in a directory, and returns what they were. Commands that use one at the moment go on without it. */
export function cleanCaches(directory: string): CachedRepositoryFiles[] {
  const caches = listCaches(directory);
  for (const { path } of caches) rmSync(path, { recursive: true, force: true });
  rmSync(join(directory, KEPT_ANSWERS_NAME), { force: true });
  return caches;
}

function measure(repositoryId: string, path: string): CachedRepositoryFiles {
  let files = 0;
  let sizeBytes = 0;
  let lastUsedMs = 0;
  for (const directory of namesIn(path)) {
    for (const name of namesIn(join(path, directory))) {
      const stats = lstatSync(join(path, directory, name), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      files += 1;
      sizeBytes += stats.size;
      lastUsedMs = Math.max(lastUsedMs, stats.mtimeMs);
    }
  }
  return {
    repositoryId,
    path,
    files,
    sizeBytes,
    lastUsed: files === 0 ? undefined : new Date(lastUsedMs).toISOString(),
  };
}

/** A directory that is missing, or a file, has no names. */
function namesIn(directory: string): string[] {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  return stats?.isDirectory() === true ? readdirSync(directory) : [];
}
