import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { decodeCondemnation } from '../../src/core/format/condemnation.ts';
import { packName } from '../../src/core/format/layout.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { checkAll, filesIn } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { PowerCutBackend } from '../support/power-cut-backend.ts';
import { createPrng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeTwoSnapshots } from '../support/two-snapshots.ts';

// Renames that are not durable, or late, because a process died or slept.

let disk: MemoryBackend;
let source: string;
let first: string;
let second: string;

beforeEach(async () => {
  ({ disk, source, first, second } = await makeTwoSnapshots());
});

test('a delete that died before its fsync does not come back in a power cut without its packs', async () => {
  const powered = new PowerCutBackend(disk);
  const isSync = (operation: string): boolean => operation === 'syncDirectory';
  const dying = new FaultyBackend(powered, { failAt: 1, mode: 'crash', only: isSync });
  const deleting = deleteSnapshots(simulatedProcess(dying), { selectors: [first], reclaim: false });
  await expect(deleting).rejects.toThrow('simulated crash');
  dying.assertFired();
  const isPack = (operation: string, name: string): boolean => operation === 'remove' && name.startsWith('packs/');
  const cutOff = new FaultyBackend(powered, { failAt: 2, mode: 'crash', only: isPack });
  await expect(compact(simulatedProcess(cutOff), { maxUnusedPercent: 0 })).rejects.toThrow('simulated crash');
  cutOff.assertFired();
  const found = powered.cut();
  expect(filesIn(found, 'snapshots')).toEqual([`snapshots/${second}`]);
  expect((await checkAll(found)).findings).toEqual([]);
});

test('a power cut that leaves a condemnation and nothing that was written before it loses nothing', async () => {
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  const found = disk.copy();
  const isSync = (operation: string, name: string): boolean => operation === 'syncDirectory' && name === 'condemned';
  const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only: isSync });
  await expect(compact(simulatedProcess(dying), { maxUnusedPercent: 0 })).rejects.toThrow('simulated crash');
  dying.assertFired();
  const [condemnation] = filesIn(disk, 'condemned');
  const bytes = disk.peek(condemnation!)!;
  found.poke(condemnation!, bytes);
  const without = found.copy();
  for (const id of decodeCondemnation(bytes).packIds) await without.remove(packName(id));
  expect((await checkAll(without)).findings).not.toEqual([]);
  for (const isCompacted of [false, true]) {
    if (isCompacted) await compact(simulatedProcess(found), { maxUnusedPercent: 0 });
    expect(filesIn(found, 'condemned')).toHaveLength(isCompacted ? 0 : 1);
    expect((await checkAll(found)).findings).toEqual([]);
    const target = memoryDirectory();
    expect((await restore(simulatedProcess(found), { selector: second, target })).problems).toEqual([]);
    expect(diffTrees(describeTree(source), join(target, basename(source)))).toEqual([]);
  }
});

test('a backup that lost its lock does not take away its snapshot, which others deleted and brought back', async () => {
  let isOvertaken = false;
  class SleepingBackend extends FaultyBackend {
    override async syncDirectory(directory: string): Promise<void> {
      await super.syncDirectory(directory);
      if (directory !== 'snapshots' || isOvertaken) return;
      isOvertaken = true;
      for (const lock of filesIn(disk, 'locks')) await disk.remove(lock);
      const { snapshots } = await deleteSnapshots(simulatedProcess(disk), { selectors: ['latest'], reclaim: false });
      await undeleteSnapshots(simulatedProcess(disk), { selectors: snapshots.map(({ id }) => id) });
    }
  }
  writeFileSync(join(source, 'file-1'), createPrng(99).bytes(5000));
  const late = backup(simulatedProcess(new SleepingBackend(disk)), { sources: [source], cwd: '/' });
  await expect(late).rejects.toThrow('the lock of this process');
  expect(isOvertaken).toBe(true);
  expect(filesIn(disk, 'snapshots')).toHaveLength(3);
  expect((await checkAll(disk)).findings).toEqual([]);
});
