import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { exitCodeOfCopy } from '../../../src/verbs/copy/report.ts';
import { BackendError, RefusedError } from '../../../src/core/errors.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import type { CopyResult } from '../../../src/verbs/copy/copy.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { restoreOne } from '../../support/aftermath.ts';
import { BACKUP, SMALL_INIT, backupWork, setStage } from '../../support/crash-stage.ts';
import type { Stage } from '../../support/crash-stage.ts';
import { checkAll, filesIn, flip, missing, packsOfKind, spoil, tryRestore, unreadable } from '../../support/damage.ts';
import type { Damage } from '../../support/damage.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { forgeSnapshot } from '../../support/forge-snapshot.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { inSoak } from '../../support/soak.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { withoutThreads } from '../../support/test-threads.ts';
import { makeTwinCopies } from '../../support/twin-copies.ts';

const RECUT: InitOptions = { capacity: 64, chunker: { kind: 'fixed', sizeBytes: 700 } };

let kept: Stage | undefined;

/** Made once. Its source directory is gone after the first test. */
async function keptStage(): Promise<Stage> {
  kept ??= await setStage(memoryDirectory(), BACKUP);
  return { ...kept, backend: kept.backend.copy() };
}

async function emptyDestination(options: InitOptions = SMALL_INIT): Promise<MemoryBackend> {
  const disk = new MemoryBackend();
  await initRepository(simulatedProcess(disk), options);
  return disk;
}

async function copyTo(source: Backend, destination: Backend, notices: Notice[] = []): Promise<CopyResult> {
  const context = { ...simulatedProcess(source), onNotice: (notice: Notice) => void notices.push(notice) };
  return await copySnapshots(context, { destination: { backend: destination } });
}

// In the suite, each takes some of the damages, and none takes those of the other.
describe.each([
  ['with other ids', SMALL_INIT, 0],
  ['with other chunks', RECUT, 1],
] as const)('of a damaged repository, to one %s,', (_, options, firstDamage) => {
  test('exactly the snapshots that can be restored are copied', async () => {
    const stage = await keptStage();
    const files = stage.backend.names().filter((name) => !/^(config|reserve|locks)/.test(name));
    const damages = files.flatMap((file): Damage[] => {
      const half = Math.floor(stage.backend.view(file).length / 2);
      const all = [flip(stage.backend, file, half), missing(file)];
      return file.startsWith('packs/') ? [...all, unreadable(file, half)] : all;
    });
    let notCopiedCount = 0;
    await withoutThreads(async () => {
      for (const [index, damage] of damages.entries()) {
        if (index % inSoak(1, 5) === inSoak(0, firstDamage)) notCopiedCount += await copyDamaged(damage);
      }
    });
    expect(notCopiedCount).toBeGreaterThan(inSoak(20, 3));

    /** Returns how many snapshots were not copied. */
    async function copyDamaged(damage: Damage): Promise<number> {
      const disk = await spoil(stage, damage);
      const destination = await emptyDestination(options);
      const notices: Notice[] = [];
      const { snapshots, problems } = await copyTo(disk, destination, notices);
      const restorable: string[] = [];
      for (const id of stage.snapshotIds) {
        if ((await tryRestore(disk, id, stage.trees.get(id)!)).isClaimedWhole) restorable.push(id);
      }
      expect(snapshots.map(({ id }) => id).sort(), damage.name).toEqual(restorable.sort());
      const notCopied = stage.snapshotIds.filter((id) => !restorable.includes(id));
      expect(problems.map(({ snapshotId }) => snapshotId).sort(), damage.name).toEqual(notCopied.sort());
      expect(notices.filter(({ kind }) => kind === 'copy-problem')).toHaveLength(notCopied.length);
      expect(exitCodeOfCopy({ problems })).toBe(notCopied.length > 0 ? 1 : 0);
      for (const { id, copyId } of snapshots) {
        expect(await restoreOne(destination, copyId!, stage.trees.get(id)!), damage.name).toEqual([]);
      }
      expect((await checkAll(destination)).findings, damage.name).toEqual([]);
      return notCopied.length;
    }
  });

  test('what another copy of a chunk has is copied', async () => {
    const { disk, snapshotIds, dataPacks } = await makeTwinCopies();
    for (const pack of [...dataPacks.values()][0]!) await flip(disk, pack, 200).apply(disk);
    const { snapshots, problems } = await copyTo(disk, await emptyDestination(options));
    expect(problems).toEqual([]);
    expect(snapshots).toHaveLength(snapshotIds.length);
  });

  test('directories that are damaged in the other repository are stored again', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const destination = await emptyDestination(options);
    await copyTo(stage.backend, destination);
    for (const pack of packsOfKind(destination, 'tree')) {
      for (const part of [3, 4, 5, 6]) {
        await flip(destination, pack, Math.floor(destination.view(pack).length / part)).apply(destination);
      }
    }
    appendFileSync(join(stage.work, 'kept'), 'more');
    const { snapshotId } = await backupWork(simulatedProcess(stage.backend), stage.work);
    const notices: Notice[] = [];
    const { snapshots } = await copyTo(stage.backend, destination, notices);
    const copyId = snapshots.find(({ id }) => id === snapshotId)!.copyId!;
    expect(await restoreOne(destination, copyId, describeTree(stage.work))).toEqual([]);
    expect(notices.map(({ kind }) => kind)).toContain('parent-damaged');
  });

  test('a copy that has lost something there is made whole by the next copy', async () => {
    const stage = await keptStage();
    const whole = await emptyDestination(options);
    await copyTo(stage.backend, whole);
    let repairedCount = 0;
    const some = (['data', 'tree'] as const).map((kind) => packsOfKind(whole, kind)[0]!);
    for (const pack of inSoak(filesIn(whole, 'packs'), some)) {
      const destination = await spoil({ ...stage, backend: whole }, missing(pack));
      const { snapshots, problems } = await copyTo(stage.backend, destination);
      expect(problems).toEqual([]);
      for (const { id, copyId, added } of snapshots) {
        expect(await restoreOne(destination, copyId!, stage.trees.get(id)!), pack).toEqual([]);
        if (added !== undefined) repairedCount += 1;
      }
      expect(filesIn(destination, 'snapshots'), pack).toEqual(filesIn(whole, 'snapshots'));
    }
    expect(repairedCount).toBeGreaterThan(0);
  });

  test('a failure of the source that may pass is no damage, and ends the copy', async () => {
    const stage = await keptStage();
    const packs = packsOfKind(stage.backend, 'data');
    const only = (operation: string, name: string): boolean => operation === 'readRange' && packs.includes(name);
    const failing = new FaultyBackend(stage.backend, { failAt: 3, only, errno: 'EACCES', repeat: true });
    const destination = await emptyDestination(options);
    await expect(copyTo(failing, destination)).rejects.toMatchObject({ kind: 'denied' });
    expect(filesIn(destination, 'locks')).toEqual([]);
    expect(filesIn(destination, 'tmp')).toEqual([]);
  });

  test('what one snapshot cannot be copied for does not concern the next', async () => {
    const work = memoryDirectory();
    const source = await emptyDestination();
    const packs = (): string[] => filesIn(source, 'packs');
    const backUp = async (): Promise<string> => (await backupWork(simulatedProcess(source), work)).snapshotId!;
    mkdirSync(join(work, 'z'));
    writeFileSync(join(work, 'z', 'file'), 'z');
    await backUp();
    const [before, trees] = [packs(), packsOfKind(source, 'tree')];
    writeFileSync(join(work, 'a'), createPrng(1).bytes(5000));
    await backUp();
    const data = packsOfKind(source, 'data').filter((pack) => !before.includes(pack));
    rmSync(join(work, 'z'), { recursive: true });
    writeFileSync(join(work, 'a'), createPrng(2).bytes(5000));
    const last = await backUp();
    for (const pack of [...trees, ...data]) await flip(source, pack, 100).apply(source);
    const { snapshots, problems } = await copyTo(source, await emptyDestination(options));
    expect(snapshots.map(({ id }) => id)).toEqual([last]);
    expect(problems).toHaveLength(2);
  });
});

test('a copy with a damaged manifest is not made again: the second copy of the manifest says what it is', async () => {
  const stage = await keptStage();
  const destination = await emptyDestination();
  await copyTo(stage.backend, destination);
  const manifests = filesIn(destination, 'snapshots');
  for (const name of manifests) await flip(destination, name, 40).apply(destination);
  const { snapshots, problems } = await copyTo(stage.backend, destination);
  expect([snapshots.map(({ added }) => added), problems]).toEqual([[undefined, undefined, undefined], []]);
  expect(filesIn(destination, 'snapshots')).toEqual(manifests);
});

test('a failure of the other repository is none of the source, and ends the copy', async () => {
  const stage = await keptStage();
  const destination = await emptyDestination();
  const only = (operation: string, name: string): boolean => operation === 'append' && name.startsWith('tmp/');
  const failing = new FaultyBackend(destination, { failAt: 3, only, errno: 'EIO' });
  await expect(copyTo(stage.backend, failing)).rejects.toThrow(BackendError);
  failing.assertFired();
  expect((await copyTo(stage.backend, destination)).problems).toEqual([]);
});

test('packs that are gone because the lock of the source was lost are no damage', async () => {
  const stage = await keptStage();
  let isLost = false;
  class OvertakenBackend extends FaultyBackend {
    override async readRange(...read: Parameters<FaultyBackend['readRange']>): Promise<void> {
      if (!isLost && filesIn(stage.backend, 'locks').length > 0 && read[0].startsWith('packs/')) {
        isLost = true;
        for (const name of [...filesIn(stage.backend, 'locks'), ...filesIn(stage.backend, 'packs')]) {
          await stage.backend.remove(name);
        }
      }
      await super.readRange(...read);
    }
  }
  const copying = copyTo(new OvertakenBackend(stage.backend), await emptyDestination());
  await expect(copying).rejects.toThrow(RefusedError);
  await expect(copying).rejects.toThrow('the lock of this process');
});

test('a file with other bytes than its entry says is not copied, and named', async () => {
  const stage = await keptStage();
  const forged = await forgeSnapshot(stage.backend, stage.snapshotIds.at(-1)!, ({ name, sizeBytes }) =>
    name === 'kept' ? { sizeBytes: sizeBytes + 1 } : {},
  );
  const { snapshots, problems } = await copyTo(stage.backend, await emptyDestination());
  expect(snapshots).toHaveLength(2);
  expect(problems).toMatchObject([
    { snapshotId: forged, path: 'work/kept', message: expect.stringContaining('its chunks have') },
  ]);
});

test('what is in no pack is named', async () => {
  const stage = await keptStage();
  const [pack] = packsOfKind(stage.backend, 'tree');
  await stage.backend.remove(pack!);
  const notices: Notice[] = [];
  const { problems } = await copyTo(stage.backend, await emptyDestination(), notices);
  expect(problems.length).toBeGreaterThan(0);
  for (const { path, message, advice } of problems) {
    expect(path).toBeDefined();
    expect(message).toMatch(/is in no pack/);
    expect(advice).toEqual({ code: 'check-repair-or-back-up' });
  }
});
