import { packName } from '../../src/core/format/layout.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { CorruptDataError, RefusedError } from '../../src/core/errors.ts';
import { decodeCondemnation } from '../../src/core/format/condemnation.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { makeCondemned } from '../support/condemned-stage.ts';
import { checkAll, filesIn, flip, packsOfKind } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// What a compaction condemned and did not come to remove.

let disk: MemoryBackend;
let source: string;
let first: string;
let second: string;

beforeEach(async () => {
  ({ disk, source, first, second } = await makeCondemned());
  expect(filesIn(disk, 'condemned')).toHaveLength(1);
});

async function save(): Promise<string> {
  return (await backup(simulatedProcess(disk), { sources: [source], cwd: '/' })).snapshotId!;
}

/** The packs that the first condemnation lists. */
function readCondemnedPacks(): string[] {
  return decodeCondemnation(disk.peek(filesIn(disk, 'condemned')[0]!)!).packIds.map((id) => packName(id));
}

async function expectRestored(selector: string): Promise<string> {
  const target = memoryDirectory();
  expect((await restore(simulatedProcess(disk), { selector, target })).problems).toEqual([]);
  return join(target, source.split('/').at(-1)!);
}

async function expectSettled(): Promise<void> {
  await compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
  expect(filesIn(disk, 'condemned')).toEqual([]);
  expect((await checkAll(disk)).findings).toEqual([]);
  expect(diffTrees(describeTree(source), await expectRestored('latest'))).toEqual([]);
}

describe('an interrupted removal', () => {
  test('is no damage, and the next compaction finishes it', async () => {
    expect((await checkAll(disk)).findings).toEqual([]);
    expect((await repair(simulatedProcess(disk))).actions).toEqual([]);
    await expectSettled();
    expect(filesIn(disk, 'deleted')).toEqual([]);
  });

  test('does not make the next backup store anything that stays', async () => {
    const { summary } = await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
    expect(summary.dataBlobs + summary.treeBlobs).toBe(0);
    await expectSettled();
  });

  test('leaves nothing for a backup to rely on that is only in condemned packs', async () => {
    for (const index of [1, 2]) writeFileSync(join(source, `file-${index}`), createPrng(index).bytes(5000));
    const { summary } = await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
    expect(summary.dataBlobs).toBe(2);
    await expectSettled();
  });

  test('ends the undelete of what it takes', async () => {
    await expect(undeleteSnapshots(simulatedProcess(disk), { selectors: [first] })).rejects.toThrow(RefusedError);
    await expectSettled();
  });

  test('whose list is damaged stops backups and compactions until a repair', async () => {
    const [list] = filesIn(disk, 'condemned');
    await flip(disk, list!, 40).apply(disk);
    await expect(save()).rejects.toThrow(CorruptDataError);
    await expect(compact(simulatedProcess(disk))).rejects.toThrow(CorruptDataError);
    expect((await checkAll(disk)).findings).toMatchObject([{ kind: 'condemnation-damaged', file: list }]);
    expect((await repair(simulatedProcess(disk))).actions.map(({ kind }) => kind)).toContain(
      'condemnation-quarantined',
    );
    await save();
    await expectSettled();
  });
});

describe('a snapshot that a suspended process committed, and that needs what is condemned', () => {
  /** A process that had looked before the condemnation brings the first snapshot back. */
  beforeEach(async () => disk.rename(`deleted/${first}`, `snapshots/${first}`));

  test('is restored, and a compaction copies what it needs', async () => {
    await expectRestored(first);
    await expectSettled();
    await expectRestored(first);
  });

  test('is copied by a compaction that may rewrite nothing else', async () => {
    expect((await compact(simulatedProcess(disk), { maxRepackBytes: 0 })).packsRewritten).toBeGreaterThan(0);
    expect(filesIn(disk, 'condemned')).toEqual([]);
    await expectSettled();
    await expectRestored(first);
  });

  test('is not what a backup relies on', async () => {
    for (const index of [1, 2]) writeFileSync(join(source, `file-${index}`), createPrng(index).bytes(5000));
    const { snapshotId, summary } = await backup(simulatedProcess(disk), { sources: [source], cwd: '/' });
    expect(summary.dataBlobs).toBeGreaterThanOrEqual(2);
    // The suspended removal wakes and goes on.
    const { segmentIds, packIds } = decodeCondemnation(disk.peek(filesIn(disk, 'condemned')[0]!)!);
    for (const id of segmentIds) await disk.remove(`index/${id}`);
    for (const id of packIds) await disk.remove(packName(id));
    await expectRestored(snapshotId!);
  });

  test('survives a repair beside other damage, which condemns packs itself', async () => {
    const tree = filesIn(disk, 'packs').find((name) => disk.peek(name)![12] === 2)!;
    await flip(disk, tree, -30).apply(disk);
    expect(await repair(simulatedProcess(disk), { dryRun: true })).toMatchObject({ remaining: [] });
    expect((await repair(simulatedProcess(disk))).remaining).toEqual([]);
    await expectRestored(first);
    await expectSettled();
    await expectRestored(first);
  });
});

test('a full disk does not take what only condemned packs hold', async () => {
  await disk.rename(`deleted/${first}`, `snapshots/${first}`);
  const isPack = (operation: string, name: string): boolean => operation === 'rename' && name.includes('-> packs/');
  const full = new FaultyBackend(disk, { failAt: 1, repeat: true, errno: 'ENOSPC', only: isPack });
  await compact(simulatedProcess(full), { maxUnusedPercent: 0 });
  full.assertFired();
  await expectRestored(first);
  await expectSettled();
  await expectRestored(first);
});

test("files that are not part of the repository are in nobody's way", async () => {
  for (const directory of ['snapshots', 'condemned', 'index', 'deleted'])
    disk.poke(`${directory}/.DS_Store`, Buffer.from('x'));
  await compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
  expect(filesIn(disk, 'condemned')).toEqual(['condemned/.DS_Store']);
  const tree = filesIn(disk, 'packs').find((name) => disk.peek(name)![12] === 2)!;
  await flip(disk, tree, -30).apply(disk);
  expect((await repair(simulatedProcess(disk))).remaining).toEqual([]);
  expect((await checkAll(disk)).findings).toEqual([]);
  expect(filesIn(disk, 'quarantine')).toHaveLength(1);
});

test('a compaction removes nothing once a snapshot has appeared since its mark', async () => {
  class LateCommit extends FaultyBackend {
    override async list(directory: string): ReturnType<FaultyBackend['list']> {
      // The new lock has just been acquired.
      const isRenewed = directory === 'snapshots' && filesIn(disk, 'condemned').length > 1;
      if (isRenewed && disk.peek(`deleted/${first}`) !== undefined) {
        await disk.rename(`deleted/${first}`, `snapshots/${first}`);
      }
      return super.list(directory);
    }
  }
  const packs = filesIn(disk, 'packs');
  await expect(compact(simulatedProcess(new LateCommit(disk)), { maxUnusedPercent: 0 })).rejects.toThrow('appeared');
  expect(filesIn(disk, 'packs')).toEqual(packs);
  await expectRestored(first);
  await expectSettled();
  await expectRestored(first);
  expect(filesIn(disk, 'snapshots')).toContain(`snapshots/${second}`);
});

describe('a repair that dies after its condemnation', () => {
  let damaged: string;

  beforeEach(async () => {
    const condemned = new Set(readCondemnedPacks());
    damaged = packsOfKind(disk, 'tree').find((name) => !condemned.has(name))!;
    await flip(disk, damaged, -30).apply(disk);
    const isRemoval = (operation: string, name: string): boolean => operation === 'rename' && name.startsWith('packs/');
    const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only: isRemoval });
    await expect(repair(simulatedProcess(dying))).rejects.toThrow('simulated crash');
    dying.assertFired();
  });

  test('leaves the damaged pack to a compaction, which sets it aside and does not delete it', async () => {
    const bytes = disk.peek(damaged)!;
    await compact(simulatedProcess(disk));
    expect(filesIn(disk, 'packs')).not.toContain(damaged);
    expect(filesIn(disk, 'quarantine').map((name) => disk.peek(name))).toContainEqual(bytes);
    await expectSettled();
  });

  test('and one that dies too leaves the same to the next', async () => {
    const bytes = disk.peek(damaged)!;
    const isPack = (operation: string, name: string): boolean => operation === 'remove' && name.startsWith('index/');
    const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only: isPack });
    await expect(compact(simulatedProcess(dying), { maxUnusedPercent: 0 })).rejects.toThrow('simulated crash');
    dying.assertFired();
    await compact(simulatedProcess(disk));
    expect(filesIn(disk, 'quarantine').map((name) => disk.peek(name))).toContainEqual(bytes);
    await expectSettled();
  });
});

test('a repair uses a good copy in a condemned pack that no segment lists any more', async () => {
  // The compaction had come as far as removing the condemned segments.
  for (const id of decodeCondemnation(disk.peek(filesIn(disk, 'condemned')[0]!)!).segmentIds) {
    await disk.remove(`index/${id}`);
  }
  let repairedCount = 0;
  const condemned = new Set(readCondemnedPacks());
  expect([...condemned].filter((name) => disk.peek(name) !== undefined).length).toBeGreaterThan(0);
  for (const fresh of packsOfKind(disk, 'data').filter((name) => !condemned.has(name))) {
    const spoiled = disk.copy();
    await flip(spoiled, fresh, 200).apply(spoiled);
    const predicted = await repair(simulatedProcess(spoiled), { dryRun: true });
    const { remaining } = await repair(simulatedProcess(spoiled));
    expect(predicted.remaining).toHaveLength(remaining.length);
    const before = spoiled.names().length;
    expect((await repair(simulatedProcess(spoiled))).remaining).toHaveLength(remaining.length);
    expect(spoiled.names()).toHaveLength(before);
    repairedCount += remaining.length === 0 ? 1 : 0;
  }
  expect(repairedCount).toBeGreaterThan(0);
});

test('a repair copies out of condemned packs what is needed, and sets none of them aside that is whole', async () => {
  await disk.rename(`deleted/${first}`, `snapshots/${first}`);
  const condemned = readCondemnedPacks();
  expect((await repair(simulatedProcess(disk))).remaining).toEqual([]);
  expect(filesIn(disk, 'quarantine')).toEqual([]);
  for (const name of condemned) await disk.remove(name);
  await expectRestored(first);
  await expectSettled();
  await expectRestored(first);
});
