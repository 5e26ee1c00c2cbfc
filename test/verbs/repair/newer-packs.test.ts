import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { Scene, newMemory } from '../../support/mixed-days.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// Yesterday's small files beside the packs that a compaction of today has left. Packs of yesterday are gone, so a repair
// looks for their chunks, and finds some in packs of today.

const ALL = { maxUnusedPercent: 0 };

/** Snapshots of today need a pack with chunks of yesterday's snapshot and others. */
async function mixedDays(): Promise<{ scene: Scene; today: string; ids: string[]; first: string }> {
  const scene = new Scene('never');
  const writer = scene.context(newMemory());
  const cwd = memoryDirectory();
  for (const name of ['x', 'y']) {
    mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, name, 'file'), name.repeat(5000));
  }
  const backUp = async (...sources: string[]): Promise<string> => (await backup(writer, { sources, cwd })).snapshotId!;
  await initRepository(writer, { encryption: 'never' });
  const first = await backUp('x');
  const yesterday = scene.keepSmallFiles();
  await deleteSnapshots(writer, { selectors: [first] });
  expect(scene.packs()).toEqual([]);
  const ids = [await backUp('x', 'y'), await backUp('x')];
  const today = scene.keepSmallFiles();
  scene.putSmallFiles(yesterday);
  return { scene, today, ids, first };
}

async function errorsOf(context: OperationContext): Promise<string[]> {
  const { findings } = await check(context, { readData: true });
  return findings.filter(({ severity }) => severity === 'error').map(({ kind }) => kind);
}

test.each([false, true])(
  'a compaction after a repair leaves packs of a newer state (dry run before: %s)',
  async (dry) => {
    const { scene, today, ids } = await mixedDays();
    const context = scene.context(newMemory());
    expect(await errorsOf(context)).not.toEqual([]);
    if (dry) expect((await repair(context, { dryRun: true })).remaining).toEqual([]);
    const before = scene.packs();
    expect((await repair(context)).remaining).toEqual([]);
    expect((await repair(context)).actions).toEqual([]);
    expect(await errorsOf(context)).toEqual([]);
    expect((await compact(context, ALL)).staying?.packIds.size).toBeGreaterThan(0);
    expect(scene.packs()).toEqual(expect.arrayContaining(before));
    scene.putSmallFiles(today);
    expect((await check(context, { selectors: ids, readData: true })).findings).toEqual([]);
  },
);

test('a repair lists the packs if the older state is accepted, and a compaction then removes what is not needed', async () => {
  const { scene } = await mixedDays();
  const context = { ...scene.context(newMemory()), acceptsOlderState: true } as const;
  const before = scene.packs();
  await repair(context);
  expect(scene.packs()).toEqual(before);
  expect((await compact(context, ALL)).staying).toBeUndefined();
  expect(scene.packs()).not.toEqual(expect.arrayContaining(before));
  expect(await errorsOf(context)).toEqual([]);
});

test('what only deleted snapshots need of packs of a newer state is copied, so that they can come back', async () => {
  const { scene, first } = await mixedDays();
  const context = scene.context(newMemory());
  await deleteSnapshots(context, { selectors: [first], reclaim: false });
  await repair(context);
  await undeleteSnapshots(context, { selectors: [first] });
  expect((await check(context, { selectors: [first], readData: true })).findings).toEqual([]);
});
