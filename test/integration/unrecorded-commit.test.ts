import { expect, test } from 'vitest';

import { RefusedError } from '../../src/core/errors.ts';
import { isCommitName } from '../../src/core/format/layout.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { SuspendedBackend } from '../support/suspended-backend.ts';
import { makeTwoSnapshots } from '../support/two-snapshots.ts';

type Run = (context: OperationContext, given: { readonly source: string; readonly first: string }) => Promise<unknown>;

// A compaction that has taken the lock over, and whose listings are old, learns of a snapshot only from its commit record.
test.each<[string, Run]>([
  ['a backup', async (context, { source }) => backup(context, { sources: [source], cwd: '/' })],
  ['an undelete', async (context, { first }) => undeleteSnapshots(context, { selectors: [first] })],
  ['a change of tags', async (context) => tagSnapshots(context, { selectors: ['latest'], add: ['new'] })],
])('%s that loses its lock before its commit is recorded does not report it', async (_, run) => {
  const { disk, source, first } = await makeTwoSnapshots();
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  const records = disk.names().filter(isCommitName);
  let count = 0;
  const isRecord = (_count: number, step: string): boolean =>
    isCommitName(step.split(' ').at(-1)!) && (count += 1) === 1;
  const sleeping = new SuspendedBackend(disk, isRecord, async () => {
    for (const name of disk.names()) if (name.startsWith('locks/')) await disk.unlink(name);
  });
  await expect(run(simulatedProcess(sleeping), { source, first })).rejects.toThrow(RefusedError);
  expect(count).toBeGreaterThan(0);
  expect(disk.names().filter(isCommitName)).toEqual(records);
});
