import { expect, test } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { RepositoryLockedError, RefusedError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { restoreOne } from '../../support/aftermath.ts';
import { SMALL_INIT, backupWork } from '../../support/crash-stage.ts';
import { copyAll, originalsById, originalsIn, setCopyStage } from '../../support/copy-stage.ts';
import { checkAll, filesIn, packsOfKind } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** The context of a process that lives. */
function processAt(backend: Backend): OperationContext {
  return { backend, ...optionsOfTests() };
}

/** Does something else once, before the first operation that matches. */
class BesideBackend extends FaultyBackend {
  isDone = false;

  constructor(inner: MemoryBackend, when: (operation: string, name: string) => boolean, action: () => Promise<void>) {
    super(inner);
    const guard = this.guard.bind(this);
    this.guard = async (operation, name, run, halfway) => {
      if (!this.isDone && when(operation, name)) {
        this.isDone = true;
        await action();
      }
      return await guard(operation, name, run, halfway);
    };
  }
}

const isCommit = (operation: string, name: string): boolean =>
  operation === 'rename' && name.includes(' -> snapshots/');

test('snapshots that are deleted in the source meanwhile are copied whole, and no space is taken', async () => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  const packs = packsOfKind(stage.source, 'data');
  const isFirstRead = (operation: string, name: string): boolean => operation === 'readRange' && packs.includes(name);
  const source = new BesideBackend(stage.source, isFirstRead, async () => {
    const { notReclaimed } = await deleteSnapshots(processAt(stage.source), { selectors: stage.snapshotIds });
    expect(notReclaimed?.error).toBeInstanceOf(RepositoryLockedError);
    await expect(compact(processAt(stage.source))).rejects.toThrow(RepositoryLockedError);
  });
  const { problems } = await copyAll(source, stage.backend, processAt(source));
  expect([source.isDone, problems]).toEqual([true, []]);
  expect(originalsIn(stage.backend).sort()).toEqual([...stage.snapshotIds].sort());
  for (const [id, original] of originalsById(stage.backend)) {
    expect(await restoreOne(stage.backend, id, stage.trees.get(original)!)).toEqual([]);
  }
  expect(filesIn(stage.source, 'locks')).toEqual([]);
});

test('a snapshot that is deleted before the source is opened is not copied', async () => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  const isOpened = (operation: string, name: string): boolean => operation === 'list' && name === 'condemned';
  const source = new BesideBackend(stage.source, isOpened, async () => {
    const options = { selectors: stage.snapshotIds.slice(0, 1), reclaim: false };
    await deleteSnapshots(processAt(stage.source), options);
  });
  const { problems } = await copyAll(source, stage.backend, processAt(source));
  expect(source.isDone).toBe(true);
  expect(problems).toMatchObject([{ snapshotId: stage.snapshotIds[0], message: 'it was deleted meanwhile' }]);
  expect(originalsIn(stage.backend)).toHaveLength(2);
});

test('two copies of the same at once make one', async () => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  const isFirstPack = (operation: string, name: string): boolean =>
    operation === 'rename' && name.includes(' -> packs/');
  const beside = new BesideBackend(stage.backend, isFirstPack, async () => {
    await copyAll(stage.source, stage.backend, processAt(stage.source));
  });
  const { snapshots } = await copyAll(stage.source, beside, processAt(stage.source));
  expect(snapshots.map(({ added }) => added)).toEqual([undefined, undefined, undefined]);
  expect(originalsIn(stage.backend)).toHaveLength(3);
  expect((await checkAll(stage.backend)).findings).toEqual([]);
});

test('a backup and a delete in the destination go on beside a copy', async () => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  const { snapshotId } = await backupWork(processAt(stage.backend), stage.work);
  const beside = new BesideBackend(stage.backend, isCommit, async () => {
    await backupWork(processAt(stage.backend), stage.work);
    await deleteSnapshots(processAt(stage.backend), { selectors: [snapshotId!] });
    await expect(compact(processAt(stage.backend))).rejects.toThrow(RepositoryLockedError);
  });
  const { problems } = await copyAll(stage.source, beside, processAt(stage.source));
  expect([beside.isDone, problems]).toEqual([true, []]);
  expect(filesIn(stage.backend, 'snapshots')).toHaveLength(4);
  await compact(processAt(stage.backend), { maxUnusedPercent: 0 });
  expect((await checkAll(stage.backend)).findings).toEqual([]);
});

test.each(['before', 'after'] as const)('no copy stays that was committed without a lock, lost %s it', async (when) => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  const isThen = when === 'before' ? isCommit : isSyncOfSnapshots;
  const losing = new BesideBackend(stage.backend, isThen, async () => {
    for (const name of filesIn(stage.backend, 'locks')) await stage.backend.remove(name);
    for (const name of filesIn(stage.backend, 'packs')) await stage.backend.remove(name);
  });
  await expect(copyAll(stage.source, losing, processAt(stage.source))).rejects.toThrow(RefusedError);
  expect(losing.isDone).toBe(true);
  expect(filesIn(stage.backend, 'snapshots')).toEqual([]);
});

function isSyncOfSnapshots(operation: string, name: string): boolean {
  return operation === 'syncDirectory' && name === 'snapshots';
}

test('copies in both directions at once do not wait for one another', async () => {
  const stage = await setCopyStage(memoryDirectory(), SMALL_INIT);
  await backupWork(processAt(stage.backend), stage.work);
  await Promise.all([
    copySnapshots({ ...processAt(stage.source), lockWaitMs: 0 }, { destination: { backend: stage.backend } }),
    copySnapshots({ ...processAt(stage.backend), lockWaitMs: 0 }, { destination: { backend: stage.source } }),
  ]);
  for (const disk of [stage.source, stage.backend]) {
    expect(filesIn(disk, 'snapshots').length).toBeGreaterThanOrEqual(4);
    expect((await checkAll(disk)).findings).toEqual([]);
    expect(filesIn(disk, 'locks')).toEqual([]);
  }
});
