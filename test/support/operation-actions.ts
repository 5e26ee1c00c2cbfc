import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import type { OverwriteMode, RestoreOptions } from '../../src/verbs/restore/restore.ts';
import { FaultyBackend } from './faulty-backend.ts';
import { SMALL_SIZES } from './simulated-process.ts';
import { encryption } from './test-password.ts';

/** The words after the target: the mode, and whether to delete. */
function restoreOptions([, overwrite = 'never', deletes]: readonly string[]): Partial<RestoreOptions> {
  return { overwrite: overwrite as OverwriteMode, delete: deletes === 'delete' };
}

type Run = (context: OperationContext, words: readonly string[]) => Promise<unknown>;

const ACTIONS: Readonly<Record<string, Run>> = {
  backup: async (context, sources) => backup(context, { sources, cwd: '/' }),
  compact: async (context) => compact(context, { maxUnusedPercent: 0 }),
  delete: async (context, selectors) => deleteSnapshots(context, { selectors }),
  undelete: async (context, selectors) => undeleteSnapshots(context, { selectors }),
  restore: async (context, words) =>
    restore(context, { selector: 'latest', target: words[0]!, ...restoreOptions(words) }),
};

/**
 * Runs an action and its arguments on a repository in a directory. Returns the number of operations on it. With `failAt`
 * the process kills itself at that one: only for child processes.
 */
export async function runAction(
  directory: string,
  [action = '', ...words]: readonly string[],
  failAt = 0,
): Promise<number> {
  const inner = new LocalBackend(directory);
  const backend = new FaultyBackend(inner, { failAt, mode: 'kill', torn: true });
  await ACTIONS[action]!({ backend, storeSizes: SMALL_SIZES, ...encryption }, words);
  await inner.close();
  return backend.operations.length;
}
