import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

import { errnoOf } from './backend-failure.ts';

/** Errors of file systems that cannot sync a directory and do not need to. */
const NO_DIRECTORY_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP']);

/** Makes the names in a directory durable. */
export function syncDirectoryPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    if (!NO_DIRECTORY_SYNC.has(errnoOf(error) ?? '')) throw error;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Syncs the parents of new directories from `first` down to the repository. No other call can sync the directories
 * above the repository.
 */
export function syncOuterDirectories(first: string, location: string): void {
  for (let path = location; path.length >= first.length; path = dirname(path)) {
    try {
      syncDirectoryPath(dirname(path));
    } catch (error) {
      // A directory of another user that is writable but not readable cannot be opened, and therefore not synced.
      if (errnoOf(error) !== 'EACCES') throw error;
    }
  }
}
