import type { NextReads } from '../backend/backend.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, KEYS_DIRECTORY, keyName } from '../format/layout.ts';

const CONFIG_NAMES = [CONFIG_NAME, CONFIG_COPY_NAME];
/** Listed to compare the repository with what this machine remembers, and once more to open its state. */
const WATCHED = ['filter', 'snapshots'];
const STATE_OF_SNAPSHOTS = ['condemned', 'manifests.bak', 'snapshots'];
/** With what is listed before the snapshots are read. */
const WATCHED_TO_REMOVE = ['filter', 'index', 'snapshots', 'manifests.bak'];
const STATE_OF_CHUNKS = ['filter', 'index'];

/** What is read before there is a lock. `keyIds`: of key files that have opened a repository at this place before. */
export function firstReads(keyIds: readonly string[]): NextReads {
  // What nothing asks for stays, and would be in the way of the next reads.
  const directories = keyIds.length > 0 ? [KEYS_DIRECTORY] : [];
  return { names: [...CONFIG_NAMES, ...keyIds.map((id) => keyName(id))], directories };
}

/**
 * What each kind of access reads first, in the order in which it lists. Asked for all at once, it is from one moment, or
 * less well ordered than `listRepository` says. What then seems to be missing is looked up by name, and listed again.
 * What removes something lists one directory after the other, also where that is one wait.
 */
export const NEXT_READS: ReadonlyMap<string, NextReads> = new Map([
  [
    'add',
    {
      names: CONFIG_NAMES,
      // A backup writes two packs at a time.
      newFiles: 2,
      directories: [...WATCHED, 'locks', ...STATE_OF_SNAPSHOTS, 'deleted', ...STATE_OF_CHUNKS, 'unfinished'],
    },
  ],
  ['read', { names: CONFIG_NAMES, directories: [...WATCHED, ...STATE_OF_SNAPSHOTS, ...STATE_OF_CHUNKS] }],
  ['shared', { names: CONFIG_NAMES, inTurn: [WATCHED_TO_REMOVE, ['snapshots'], ['index']] }],
  ['exclusive', { names: CONFIG_NAMES, inTurn: [WATCHED_TO_REMOVE, ['snapshots'], ['deleted'], ['deleted']] }],
  ['list', { names: CONFIG_NAMES, directories: [...WATCHED, 'manifests.bak', 'snapshots'] }],
]);
