import { expect } from 'vitest';

import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { FaultyBackend } from './faulty-backend.ts';
import { simulatedProcess } from './simulated-process.ts';
import { makeTwoSnapshots } from './two-snapshots.ts';
import type { TwoSnapshots } from './two-snapshots.ts';

/** Two snapshots; the first is deleted, and a compaction that gives its space back died after its condemnation. */
export async function makeCondemned(): Promise<TwoSnapshots> {
  const stage = await makeTwoSnapshots();
  const { disk, first } = stage;
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  const isRemoval = (operation: string, name: string): boolean => operation === 'remove' && !/^(locks|tmp)/.test(name);
  const dying = new FaultyBackend(disk, { failAt: 2, mode: 'crash', only: isRemoval });
  await expect(compact(simulatedProcess(dying), { maxUnusedPercent: 0 })).rejects.toThrow('simulated crash');
  dying.assertFired();
  return stage;
}

/** The same, but a process that had looked before the condemnation has brought the first snapshot back. */
export async function makeCondemnedInUse(): Promise<TwoSnapshots> {
  const stage = await makeCondemned();
  await stage.disk.rename(`deleted/${stage.first}`, `snapshots/${stage.first}`);
  return stage;
}
