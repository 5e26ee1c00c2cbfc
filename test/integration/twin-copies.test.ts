import { describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../src/core/errors.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { checkAll, filesIn, flip, missing } from '../support/damage.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { contents } from '../support/repair-aftermath.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeTwinCopies } from '../support/twin-copies.ts';

// A chunk that two parallel backups stored has a copy that is used and one that a compaction may drop.

async function expectRestored(disk: MemoryBackend, selector: string, source: string): Promise<void> {
  const target = memoryDirectory();
  const { problems } = await restore(simulatedProcess(disk), { selector, target });
  expect(problems).toEqual([]);
  expect(diffTrees(describeTree(source), `${target}/${source.split('/').at(-1)}`)).toEqual([]);
}

/** The same damage to all data packs of one of the two backups, each in turn. */
async function forEachSide(
  run: (given: { disk: MemoryBackend; source: string; snapshotIds: readonly string[] }) => Promise<void>,
): Promise<void> {
  const twins = await makeTwinCopies();
  expect(twins.dataPacks.size).toBe(2);
  for (const packs of twins.dataPacks.values()) {
    expect(packs.length).toBeGreaterThan(0);
    const disk = twins.disk.copy();
    for (const pack of packs) await flip(disk, pack, 300).apply(disk);
    await run({ ...twins, disk });
  }
}

test('without damage a compaction keeps one copy', async () => {
  const { disk, source, snapshotIds, dataPacks } = await makeTwinCopies();
  await compact(simulatedProcess(disk));
  expect([...dataPacks.values()].flat().filter((name) => disk.peek(name) !== undefined).length).toBeLessThan(
    [...dataPacks.values()].flat().length,
  );
  expect((await checkAll(disk)).findings).toEqual([]);
  for (const id of snapshotIds) await expectRestored(disk, id, source);
});

describe('when one of two copies is damaged', () => {
  test('both snapshots are restored from the other, and check names no file', async () => {
    await forEachSide(async ({ disk, source, snapshotIds }) => {
      for (const id of snapshotIds) await expectRestored(disk, id, source);
      const { findings } = await checkAll(disk);
      expect(findings.length).toBeGreaterThan(0);
      for (const { kind, paths } of findings)
        expect({ kind, paths: paths ?? [] }).toEqual({ kind: 'pack-damaged', paths: [] });
    });
  });

  test('a compaction never leaves the damaged one alone, and after a repair everything is sound', async () => {
    let refusalCount = 0;
    await forEachSide(async ({ disk, source, snapshotIds }) => {
      const before = contents(disk);
      const error = await compact(simulatedProcess(disk)).catch((reason: unknown) => reason);
      if (error instanceof Error) {
        expect(error).toBeInstanceOf(CorruptDataError);
        expect(contents(disk)).toEqual(before);
        refusalCount += 1;
      }
      for (const id of snapshotIds) await expectRestored(disk, id, source);
      expect((await repair(simulatedProcess(disk))).remaining).toEqual([]);
      await compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
      expect((await checkAll(disk)).findings).toEqual([]);
      for (const id of snapshotIds) await expectRestored(disk, id, source);
    });
    // The copy that is used is damaged on one side, the one that goes on the other.
    expect(refusalCount).toBe(1);
  });

  test('nor does one that only an unindexed pack saves', async () => {
    const { disk, dataPacks, snapshotIds } = await makeTwinCopies();
    for (const [segment, packs] of dataPacks) {
      const orphaned = disk.copy();
      // As if the other backup had died before its segment: its packs are leftovers.
      for (const other of dataPacks.keys()) if (other !== segment) await missing(other).apply(orphaned);
      for (const file of filesIn(orphaned, 'filter')) await orphaned.remove(file);
      for (const id of snapshotIds) {
        const isWhole = (await checkAll(orphaned)).findings.length === 0;
        if (!isWhole) await deleteSnapshots(simulatedProcess(orphaned), { selectors: [id], reclaim: false });
      }
      for (const pack of packs) await flip(orphaned, pack, 300).apply(orphaned);
      const before = contents(orphaned);
      await expect(compact(simulatedProcess(orphaned))).rejects.toThrow(CorruptDataError);
      expect(contents(orphaned)).toEqual(before);
    }
  });
});
