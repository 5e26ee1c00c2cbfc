import { expect, test } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { setDamageStage } from '../../support/damage.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test('a compaction whose lock and files others have removed says that the lock is gone', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const [snapshot] = stage.snapshotIds.filter((id) => !stage.deletedIds.includes(id));
  await deleteSnapshots(simulatedProcess(stage.backend), { selectors: [snapshot!], reclaim: false });
  let isOvertaken = false;
  class OvertakenBackend extends FaultyBackend {
    override async read(name: string): ReturnType<FaultyBackend['read']> {
      if (name.startsWith('index/') && !isOvertaken) {
        isOvertaken = true;
        for (const lock of stage.backend.names().filter((each) => each.startsWith('locks/'))) {
          await stage.backend.remove(lock);
        }
        await compact(simulatedProcess(stage.backend), { maxUnusedPercent: 0 });
      }
      return await super.read(name);
    }
  }
  const late = compact(simulatedProcess(new OvertakenBackend(stage.backend)), { maxUnusedPercent: 0 });
  await expect(late).rejects.toThrow(RefusedError);
  await expect(late).rejects.toThrow('the lock of this process');
  expect(isOvertaken).toBe(true);
});
