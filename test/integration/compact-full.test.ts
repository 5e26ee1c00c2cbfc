import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { isDiskFull } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { checkAll, filesIn } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { LimitedBackend, usedBytesOf } from '../support/limited-backend.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// A compaction on a disk with little room, for every amount of room from nothing to enough.

const STEP_BYTES = inSoak(151, 1201);
const ENOUGH_BYTES = 12_000;

interface Stage {
  readonly disk: MemoryBackend;
  /** What a compaction without any limit leaves. */
  readonly bytesAfter: number;
}

/** A repository with neither a reserve nor a filter image, which could be given up, and in which snapshots are deleted and their space is not reclaimed. */
async function setStage(given: { readonly isAnyPackDead: boolean }): Promise<Stage> {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  const source = memoryDirectory();
  const save = async (seeds: readonly number[]): Promise<string> => {
    for (const [index, seed] of seeds.entries())
      writeFileSync(join(source, `file-${index}`), createPrng(seed).bytes(5000));
    return (await backup(simulatedProcess(disk), { sources: [source], cwd: '/' })).snapshotId!;
  };
  const deleted = [await save([1, 2, 3])];
  if (given.isAnyPackDead) deleted.push(await save([1, 5, 6]));
  await save([1, 8, 9]);
  await deleteSnapshots(simulatedProcess(disk), { selectors: deleted, reclaim: false });
  for (const name of ['reserve', ...filesIn(disk, 'filter')]) await disk.remove(name);
  const unlimited = disk.copy();
  await compact(simulatedProcess(unlimited), { maxUnusedPercent: 0 });
  return { disk, bytesAfter: bytesOf(unlimited, 'packs') };
}

function bytesOf(disk: MemoryBackend, directory: string): number {
  return filesIn(disk, directory).reduce((total, name) => total + disk.view(name).length, 0);
}

describe.each([
  { name: 'some packs without live chunks', isAnyPackDead: true },
  { name: 'live chunks in every pack', isAnyPackDead: false },
])('with $name', (given) => {
  test('uses no more than before, loses nothing, and the next compaction with room reclaims everything', async () => {
    const { disk, bytesAfter } = await setStage(given);
    const outcomes = { complete: 0, partial: 0, failed: 0 };
    for (let freeBytes = 0; freeBytes < ENOUGH_BYTES; freeBytes += STEP_BYTES) {
      const copy = disk.copy();
      const usedBytes = usedBytesOf(copy);
      const outcome = await compactLimited(new LimitedBackend(copy, usedBytes + freeBytes));
      outcomes[outcome] += 1;
      if (outcome !== 'complete')
        expect({ freeBytes, used: usedBytesOf(copy) <= usedBytes }).toEqual({ freeBytes, used: true });
      expect({ freeBytes, findings: (await checkAll(copy)).findings }).toEqual({ freeBytes, findings: [] });
      for (const place of ['tmp', 'condemned']) expect(filesIn(copy, place)).toEqual([]);
      await compact(simulatedProcess(copy), { maxUnusedPercent: 0 });
      expect({ freeBytes, bytes: bytesOf(copy, 'packs') }).toEqual({ freeBytes, bytes: bytesAfter });
    }
    expect(outcomes.complete).toBeGreaterThan(0);
    expect(outcomes.failed).toBeGreaterThan(0);
    // Where packs without live chunks go first, they make room for the rest.
    expect(outcomes.partial > 0).toBe(!given.isAnyPackDead);
  });

  test('needs no more room once anything is condemned', async () => {
    const { disk, bytesAfter } = await setStage(given);
    let isCondemned = false;
    const only = (operation: string, name: string): boolean => {
      isCondemned ||= operation === 'rename' && name.includes('condemned/');
      return isCondemned && operation === 'append';
    };
    const filling = new FaultyBackend(disk, { failAt: 1, repeat: true, mode: 'error', errno: 'ENOSPC', only });
    expect(await compactLimited(filling)).toBe('complete');
    // It has tried to put the reserve back.
    filling.assertFired();
    expect(bytesOf(disk, 'packs')).toBe(bytesAfter);
    expect((await checkAll(disk)).findings).toEqual([]);
    for (const place of ['tmp', 'condemned']) expect(filesIn(disk, place)).toEqual([]);
  });
});

test('reclaims an interrupted first backup, and keeps the image which shows that no snapshot is lost', async () => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  const source = memoryDirectory();
  writeFileSync(join(source, 'file'), createPrng(1).bytes(5000));
  const isCommit = (operation: string, name: string): boolean => operation === 'rename' && name.includes('snapshots/');
  const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only: isCommit });
  await expect(backup(simulatedProcess(dying), { sources: [source], cwd: '/' })).rejects.toThrow('simulated crash');
  expect(filesIn(disk, 'filter').length).toBeGreaterThan(0);
  const limited = new LimitedBackend(disk, usedBytesOf(disk));
  expect(await compactLimited(limited)).toBe('complete');
  expect(limited.fired).toBe(true);
  expect(filesIn(disk, 'packs')).toEqual([]);
});

test('rewrites as many packs at a time as there is room for, with the room of the reserve', async () => {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), { capacity: 64 });
  const source = memoryDirectory();
  const save = async (seedOf: (index: number) => number): Promise<string> => {
    for (let index = 0; index < 60; index += 1) {
      writeFileSync(join(source, `file-${index}`), createPrng(seedOf(index)).bytes(5000));
    }
    return (await backup(simulatedProcess(disk), { sources: [source], cwd: '/' })).snapshotId!;
  };
  const first = await save((index) => index);
  await save((index) => (index % 2 === 0 ? index : 1000 + index));
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  for (const reserveBytes of [0, 40_000, 1_048_576]) {
    const copy = disk.copy();
    for (const name of filesIn(copy, 'filter')) await copy.remove(name);
    copy.poke('reserve', Buffer.alloc(reserveBytes));
    const limited = new LimitedBackend(copy, usedBytesOf(copy));
    const outcome = await compactLimited(limited);
    expect({ reserveBytes, outcome }).toEqual({ reserveBytes, outcome: reserveBytes === 0 ? 'failed' : 'complete' });
    expect(limited.fired).toBe(true);
    if (outcome === 'failed') continue;
    expect((await checkAll(copy)).findings).toEqual([]);
    expect(filesIn(copy, 'filter').length).toBe(1);
    expect(copy.peek('reserve') !== undefined).toBe(reserveBytes === 1_048_576);
  }
});

test('keeps its copies if their segment has its name, though it may not be durable', async () => {
  const { disk } = await setStage({ isAnyPackDead: false });
  const before = filesIn(disk, 'index');
  const only = (operation: string, name: string): boolean => operation === 'syncDirectory' && name === 'index';
  const faulty = new FaultyBackend(disk, { failAt: 1, mode: 'error', errno: 'ENOSPC', only });
  await expect(compact(simulatedProcess(faulty), { maxUnusedPercent: 0 })).rejects.toThrow('no space left');
  faulty.assertFired();
  expect(filesIn(disk, 'index').length).toBe(before.length + 1);
  expect((await checkAll(disk)).findings).toEqual([]);
  expect(await compactLimited(new LimitedBackend(disk, Infinity))).toBe('complete');
});

test('leaves a filter image behind if there is room at the end', async () => {
  const images: number[] = [];
  for (let freeBytes = 0; freeBytes < 9000; freeBytes += inSoak(500, 1500)) {
    const disk = new MemoryBackend();
    await initRepository(simulatedProcess(disk), { capacity: 64 });
    const source = memoryDirectory();
    writeFileSync(join(source, 'file'), createPrng(1).bytes(5000));
    const { snapshotId } = await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
    const limited = new LimitedBackend(disk, usedBytesOf(disk) + freeBytes);
    await deleteSnapshots(simulatedProcess(limited), { selectors: [snapshotId!] });
    expect(filesIn(disk, 'packs')).toEqual([]);
    images.push(filesIn(disk, 'filter').length);
  }
  expect(Math.min(...images)).toBe(1);
});

async function compactLimited(disk: FaultyBackend): Promise<'complete' | 'partial' | 'failed'> {
  const warnings: Notice[] = [];
  const onNotice = (notice: Notice): void => void warnings.push(notice);
  try {
    await compact({ ...simulatedProcess(disk), onNotice }, { maxUnusedPercent: 0 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    return 'failed';
  }
  return warnings.length === 0 ? 'complete' : 'partial';
}
