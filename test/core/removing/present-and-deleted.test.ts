import { expect, test } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { compareStates } from '../../../src/core/damage/state-comparison.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { BACKUP, setStage } from '../../support/crash-stage.ts';
import { tryRestoreAll } from '../../support/damage.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { writeImage } from '../../support/spoil-counts.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { unlockOfTests } from '../../support/test-password.ts';

/** As a sync that copies a renamed manifest before it removes the old name leaves it. */
test('a snapshot in both snapshots/ and deleted/ keeps its references, whether or not a checkpoint knows it', async () => {
  const stage = await setStage(memoryDirectory(), BACKUP);
  const { backend, snapshotIds } = stage;
  await writeImage(backend);
  const id = snapshotIds[0]!;
  backend.poke(`deleted/${id}`, backend.peek(`snapshots/${id}`)!);
  const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
  const opened = await repository.openState();
  const recounted = await repository.openState({ ignoreCheckpoints: true });
  await repository.close();
  expect(opened.checkpoint).toBeDefined();
  for (const { state } of [opened, recounted])
    expect([...state.snapshots.keys()].sort()).toEqual([...snapshotIds].sort());
  expect(compareStates(opened.state, recounted.state).count).toBe(0);
  expect((await check(simulatedProcess(backend))).findings).toEqual([]);
  await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
  for (const outcome of (await tryRestoreAll(backend, stage)).values()) {
    expect(outcome).toMatchObject({ isClaimedWhole: true, wrong: [] });
  }
});
