import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { formatBytes } from '../../../src/core/util/format-bytes.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { Scene, newMemory } from '../../support/mixed-days.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// Yesterday's small files beside the packs that a compaction of today has left. Packs of yesterday are gone, so a repair
// looks for their chunks, and finds some in packs of today.

const ALL = { maxUnusedPercent: 0 };

/** Snapshots of today need a pack with chunks of yesterday's snapshot and others. */
async function mixedDays(
  contentOf: (name: string) => string | Uint8Array = (name) => name.repeat(5000),
): Promise<{ scene: Scene; today: string; ids: string[]; first: string }> {
  const scene = new Scene('never');
  const writer = scene.context(newMemory());
  const cwd = memoryDirectory();
  for (const name of ['x', 'y']) {
    mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, name, 'file'), contentOf(name));
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

describe('the room for copies', () => {
  const dense = (name: string): Uint8Array => createPrng(name.charCodeAt(0)).bytes(5000);
  const sizeOfPacks = (scene: Scene): number =>
    scene.packs().reduce((sum, name) => sum + statSync(join(scene.repository, 'packs', name)).size, 0);

  test('is what a dry run says, for what is needed', async () => {
    const { scene } = await mixedDays(dense);
    const context = scene.context(newMemory());
    const sizeBytes = sizeOfPacks(scene);
    const { roomBytes } = await repair(context, { dryRun: true });
    expect(sizeOfPacks(scene)).toBe(sizeBytes);
    await repair(context);
    const takenBytes = sizeOfPacks(scene) - sizeBytes;
    expect(takenBytes).toBeGreaterThan(5000);
    expect(takenBytes).toBeLessThan(7000);
    // With a segment, and with room for the ends of more packs than these.
    expect(roomBytes).toBeGreaterThan(takenBytes);
    expect(roomBytes).toBeLessThan(12_000);
    const again = await repair(context, { dryRun: true });
    expect(again).toMatchObject({ roomBytes: 0, actions: [] });
  });

  test('is none where the packs are used as they are', async () => {
    const { scene } = await mixedDays(dense);
    const context = { ...scene.context(newMemory()), acceptsOlderState: 'once' } as const;
    expect(await repair(context, { dryRun: true })).toMatchObject({ roomBytes: 0 });
  });

  test('is named when the disk is full, and nothing is changed', async () => {
    const { scene } = await mixedDays(dense);
    const context = scene.context(newMemory());
    const { roomBytes } = await repair(context, { dryRun: true });
    const names = scene.packs();
    const backend = new FaultyBackend(new LocalBackend(scene.repository), {
      failAt: 1,
      errno: 'ENOSPC',
      repeat: true,
      only: (operation) => operation === 'append',
    });
    const failed = repair({ ...context, backend });
    await expect(failed).rejects.toMatchObject({
      kind: 'full',
      message: expect.stringMatching(
        new RegExp(`up to ${formatBytes(roomBytes)}: .*${scene.repository}.*ENOSPC`),
      ) as string,
      advice: { code: 'make-room-or-accept-older-state' },
    });
    expect(scene.packs()).toEqual(names);
    expect((await repair(context)).remaining).toEqual([]);
    expect(await errorsOf(context)).toEqual([]);
  });
});
