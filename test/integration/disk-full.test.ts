import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { examineAftermath } from '../support/aftermath.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { ACTS, BACKUP, backupWork, setStage } from '../support/crash-stage.ts';
import { InterruptionLoop } from '../support/interruption.ts';
import { LimitedBackend, usedBytesOf } from '../support/limited-backend.ts';
import { createPrng } from '../support/prng.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { fillToTheLastByte, freeBytesOf, mountTmpfs } from '../support/tmpfs.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

const LOOP_TIMEOUT_MS = 3_600_000;
const MIB = 1024 * 1024;

describe('a disk that is full from any write on', () => {
  it.each(ACTS)(
    'ends $name with ENOSPC, nothing half done and nothing left in tmp/',
    async (act) => {
      const loop = new InterruptionLoop({ stage: await setStage(memoryDirectory(), act), act });
      const only = (operation: string): boolean => operation === 'append' || operation === 'create';
      const { failures, firedCount } = await loop.run({
        mode: 'error',
        errno: 'ENOSPC',
        repeat: true,
        torn: true,
        only,
      });
      expect(failures).toEqual([]);
      expect(firedCount).toBeGreaterThan(0);
    },
    LOOP_TIMEOUT_MS,
  );

  it('has room for a delete and a compaction with no byte free, in memory', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const limited = new LimitedBackend(stage.backend, usedBytesOf(stage.backend));
    await expect(backupWork(simulatedProcess(limited), stage.work)).rejects.toMatchObject({ errno: 'ENOSPC' });
    expect(limited.fired).toBe(true);
    expect(stage.backend.names().filter((name) => name.startsWith('tmp/'))).toEqual([]);
    const usedBytes = usedBytesOf(stage.backend);
    await deleteSnapshots(simulatedProcess(limited), { selectors: stage.snapshotIds.slice(0, 2) });
    await compact(simulatedProcess(limited), { maxUnusedPercent: 0 });
    expect(usedBytesOf(stage.backend)).toBeLessThan(usedBytes - 20_000);
    const present = stage.snapshotIds.slice(2);
    expect(await examineAftermath(stage.backend, stage, { present, absent: stage.snapshotIds.slice(0, 2) })).toEqual(
      [],
    );
  });
});

describe('a real disk without a byte free', () => {
  it('is told from a backup that succeeded, and a delete gives space back', async ({ skip }) => {
    const full = await fillDisk(skip);
    const failed = await full.run('backup', full.work('new', 3));
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/ENOSPC|no space/i);
    expect(readdirSync(join(full.repository, 'snapshots')).sort()).toEqual([...full.ids].sort());
    for (const place of ['tmp', 'locks']) expect(readdirSync(join(full.repository, place))).toEqual([]);
    await full.expectSound(['first', 'second']);
    fillToTheLastByte(full.filler);

    await full.expectSuccess('delete', full.ids[0]!);
    await full.expectSuccess('compact');
    expect(freeBytesOf(full.disk)).toBeGreaterThan(3 * MIB);
    await full.expectSuccess('backup', full.work('new', 2));
    await full.expectSound(['second', 'new']);
  });

  it('is no obstacle to a compaction of a delete that was made before', async ({ skip }) => {
    const full = await fillDisk(skip);
    await full.expectSuccess('delete', '--no-reclaim', full.ids[0]!);
    fillToTheLastByte(full.filler);
    await full.expectSuccess('compact');
    expect(freeBytesOf(full.disk)).toBeGreaterThan(3 * MIB);
    await full.expectSound(['second']);
  });

  it('rewrites packs in the room that packs without live chunks give back', async ({ skip }) => {
    const full = await fillDisk(skip);
    rmSync(full.filler);
    // The second snapshot's pack is dead in part from now on.
    rmSync(join(full.directory, 'second', 'file-0'));
    await full.expectSuccess('backup', join(full.directory, 'second'));
    fillToTheLastByte(full.filler);
    await full.expectSuccess('delete', ...full.ids);
    expect(freeBytesOf(full.disk)).toBeGreaterThan(4.5 * MIB);
    await full.expectSound(['second']);
  });

  it('keeps packs that there is no room to rewrite, and says so', async ({ skip }) => {
    const full = await fillDisk(skip);
    rmSync(full.filler);
    for (const name of ['first', 'second']) {
      for (const index of [0, 1]) rmSync(join(full.directory, name, `file-${index}`));
      await full.expectSuccess('backup', join(full.directory, name));
    }
    fillToTheLastByte(full.filler);
    const deleted = await full.run('delete', ...full.ids);
    expect(deleted.code).toBe(0);
    expect(deleted.stderr).toMatch(/2 packs with dead space could not be rewritten/);
    await full.expectSound(['first', 'second']);
    rmSync(full.filler);
    const freeBytes = freeBytesOf(full.disk);
    await full.expectSuccess('compact');
    expect(freeBytesOf(full.disk)).toBeGreaterThan(freeBytes + 3.5 * MIB);
    await full.expectSound(['first', 'second']);
  });
});

interface FullDisk {
  readonly directory: string;
  readonly disk: string;
  readonly repository: string;
  readonly filler: string;
  /** Of the snapshots `first` and `second`. */
  readonly ids: readonly string[];
  /** Makes a directory with so many files of a mebibyte and returns its path. */
  work(name: string, fileCount: number): string;
  run(...args: readonly string[]): Promise<RunLdmResult>;
  expectSuccess(...args: readonly string[]): Promise<void>;
  /** The check is clean, and the newest snapshots restore to these directories, the last one first. */
  expectSound(names: readonly string[]): Promise<void>;
}

/** A small disk with two snapshots on it and not a byte left. */
async function fillDisk(skip: (condition: boolean, note: string) => void): Promise<FullDisk> {
  skip(!isRoot, NEEDS_ROOT);
  const directory = memoryDirectory();
  const disk = join(directory, 'disk');
  skip(!mountTmpfs(disk, 14 * MIB), 'no tmpfs can be mounted here, not even by root');
  const repository = join(disk, 'repository');
  const run = async (...args: readonly string[]): Promise<RunLdmResult> => runLdmHere(['-r', repository, ...args]);
  const expectSuccess = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await run(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  };
  const work = (name: string, fileCount: number): string => {
    const path = join(directory, name);
    mkdirSync(path, { recursive: true });
    for (let index = 0; index < fileCount; index += 1) {
      const seed = name.length * 100 + index;
      writeFileSync(join(path, `file-${index}`), createPrng(seed).bytes(MIB));
    }
    return path;
  };
  const expectSound = async (names: readonly string[]): Promise<void> => {
    await expectSuccess('check', '--read-data');
    for (const [back, name] of names.toReversed().entries()) {
      const target = memoryDirectory();
      await expectSuccess('-q', 'restore', `latest~${back}`, '--target', target);
      expect(diffTrees(join(directory, name), join(target, name))).toEqual([]);
    }
  };
  await expectSuccess('init', '--no-encryption');
  const ids: string[] = [];
  for (const name of ['first', 'second']) {
    await expectSuccess('backup', work(name, 4));
    ids.push(readdirSync(join(repository, 'snapshots')).find((id) => !ids.includes(id)) ?? '');
  }
  const filler = join(disk, 'filler');
  fillToTheLastByte(filler);
  return { directory, disk, repository, filler, ids, work, run, expectSuccess, expectSound };
}
