import { LocalBackend } from '../../src/backend/local-backend.ts';
import { backup } from '../../src/operations/backup.ts';
import { compact } from '../../src/operations/compact.ts';
import type { OperationContext } from '../../src/operations/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/operations/delete.ts';
import { restore } from '../../src/operations/restore.ts';
import type { OverwriteMode, RestoreOptions } from '../../src/operations/restore.ts';
import { FaultyBackend } from './faulty-backend.ts';
import { encryption } from './test-password.ts';
import { SMALL_SIZES } from './simulated-process.ts';

// A child process of the kill tests: operation-child.js <repository> <operation to die at> <action> <arguments...>
const [directory = '', failAt = '', action = '', ...selectors] = process.argv.slice(2);
const backend = new FaultyBackend(new LocalBackend(directory), { failAt: Number(failAt), mode: 'kill', torn: true });
const context: OperationContext = { backend, storeSizes: SMALL_SIZES, ...encryption };

/** The arguments after the target: the mode, and whether to delete. */
function restoreOptions(): Partial<RestoreOptions> {
  const [, overwrite = 'never', deletes] = selectors;
  return { overwrite: overwrite as OverwriteMode, delete: deletes === 'delete' };
}

const actions: Readonly<Record<string, () => Promise<unknown>>> = {
  backup: async () => backup(context, { sources: selectors, cwd: '/' }),
  compact: async () => compact(context, { maxUnusedPercent: 0 }),
  delete: async () => deleteSnapshots(context, { selectors }),
  undelete: async () => undeleteSnapshots(context, { selectors }),
  restore: async () => restore(context, { selector: 'latest', target: selectors[0]!, ...restoreOptions() }),
};
await actions[action]?.();
process.stdout.write(`survived ${backend.operations.length}\n`);
