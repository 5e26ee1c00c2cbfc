import { expect, test } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { isCommitName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { CompactOptions } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { backupWork } from '../../support/crash-stage.ts';
import type { Stage } from '../../support/crash-stage.ts';
import {
  checkAll,
  filesIn,
  flip,
  missing,
  packsOfKind,
  presentIds,
  setDamageStage,
  spoil,
  tryRestore,
  unreadable,
} from '../../support/damage.ts';
import type { Damage } from '../../support/damage.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { contents, copyOf } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { spoilCounts, writeImage } from '../../support/spoil-counts.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTwoSnapshots } from '../../support/two-snapshots.ts';

const images = (disk: MemoryBackend): Damage[] => filesIn(disk, 'filter').map((file) => missing(file));
const commits = (disk: MemoryBackend): Damage[] => disk.names().filter(isCommitName).map(missing);
const copies = (disk: MemoryBackend): Damage[] => filesIn(disk, 'manifests.bak').map((file) => missing(file));
const manifests = (disk: MemoryBackend): Damage[] =>
  [...filesIn(disk, 'snapshots'), ...filesIn(disk, 'deleted')].map((file) => missing(file));

/** What is lost, and in which words a compaction refuses to call the rest garbage. */
const REFUSALS: readonly [string, RegExp, (disk: MemoryBackend) => Damage[]][] = [
  ['every manifest', /is missing although it was not deleted/, manifests],
  [
    'every manifest, copy and image, but no commit record,',
    /is missing although it was not deleted/,
    (disk) => [...manifests(disk), ...copies(disk), ...images(disk)],
  ],
  [
    'every manifest, copy, image and commit record',
    /there are chunks but no snapshots/,
    (disk) => [...manifests(disk), ...copies(disk), ...images(disk), ...commits(disk)],
  ],
  [
    'the bytes of a commit record',
    /a commit record cannot be read/,
    (disk) => [flip(disk, disk.names().find(isCommitName)!, 20)],
  ],
  [
    'every manifest and image, but no copy,',
    /is missing although it was not deleted/,
    (disk) => [...manifests(disk), ...images(disk)],
  ],
  ['one manifest', /is missing although it was not deleted/, (disk) => [missing(filesIn(disk, 'snapshots')[0]!)]],
  [
    'one manifest, and a segment, so that no image fits',
    /is missing although it was not deleted|cannot be read/,
    (disk) => [missing(filesIn(disk, 'snapshots')[0]!), missing(filesIn(disk, 'index')[0]!)],
  ],
  [
    'the bytes of a manifest that neither a copy nor an image knows',
    /a snapshot cannot be read/,
    (disk) => [flip(disk, filesIn(disk, 'snapshots')[0]!, 9), ...copies(disk), ...images(disk)],
  ],
  [
    'a manifest with the bytes of its copy, and no image knows it,',
    /a snapshot cannot be read/,
    (disk) => [
      missing(filesIn(disk, 'snapshots')[0]!),
      flip(disk, copyOf(filesIn(disk, 'snapshots')[0]!), 9),
      ...images(disk),
    ],
  ],
  [
    'the bytes of a segment',
    /a segment cannot be read/,
    (disk) => [flip(disk, filesIn(disk, 'index')[0]!, 99), ...images(disk)],
  ],
  [
    'a tree',
    /tree [0-9a-f]{40} cannot be read/,
    (disk) => [...packsOfKind(disk, 'tree').map((file) => flip(disk, file, 90)), ...images(disk)],
  ],
  [
    'the packs of the trees',
    /tree [0-9a-f]{40} cannot be read/,
    (disk) => packsOfKind(disk, 'tree').map((file) => missing(file)),
  ],
  [
    'what a disk cannot read of the trees',
    /tree [0-9a-f]{40} cannot be read/,
    (disk) => [...packsOfKind(disk, 'tree').map((file) => unreadable(file, 90)), ...images(disk)],
  ],
  [
    'what a disk cannot read of a segment',
    /a segment cannot be read/,
    (disk) => [unreadable(filesIn(disk, 'index')[0]!, 9), ...images(disk)],
  ],
  [
    'what a disk cannot read of a manifest that neither a copy nor an image knows',
    /a snapshot cannot be read/,
    (disk) => [unreadable(filesIn(disk, 'snapshots')[0]!, 9), ...copies(disk), ...images(disk)],
  ],
];

test.each(REFUSALS)('gives nothing back where %s is lost', async (_, message, makeDamages) => {
  const stage = await setDamageStage(memoryDirectory());
  const disk = await spoil(stage, ...makeDamages(stage.backend));
  await expectRefused(disk, message);
});

test('gives nothing back where a dead chunk has a reference', async () => {
  const stage = await withDeadChunks();
  await spoilCounts(stage.backend, 'dead');
  await expectRefused(stage.backend, /the reference counts disagree with the snapshots at chunk [0-9a-f]{40}/);
});

test('goes on without what is lost when a person says so, and it stays forgotten', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const [lostId = '', keptId = ''] = presentIds(stage);
  const disk = await spoil(stage, missing(`snapshots/${lostId}`));
  await compact(simulatedProcess(disk), { forgetLost: true, maxUnusedPercent: 0 });
  expect((await checkAll(disk)).findings).toEqual([]);
  expect(await tryRestore(disk, keptId, stage.trees.get(keptId)!)).toMatchObject({ isClaimedWhole: true });
  await compact(simulatedProcess(disk));
});

test('forgets a lost snapshot even where that frees nothing', async () => {
  const { backend, work } = await setDamageStage(memoryDirectory());
  const twins = [await backupWork(simulatedProcess(backend), work), await backupWork(simulatedProcess(backend), work)];
  await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
  await writeImage(backend);
  await missing(`snapshots/${twins[0]!.snapshotId}`).apply(backend);
  await expectRefused(backend, /is missing although it was not deleted/);
  await compact(simulatedProcess(backend), { forgetLost: true });
  expect((await checkAll(backend)).findings).toEqual([]);
});

test('takes everything when every manifest is lost and a person says so', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const { backend } = stage;
  const losses = [[], images(backend), [...copies(backend), ...images(backend)]];
  for (const damages of losses.map((more) => [...manifests(backend), ...more])) {
    const disk = await spoil(stage, ...damages);
    await compact(simulatedProcess(disk), { forgetLost: true });
    expect(filesIn(disk, 'packs')).toEqual([]);
    expect((await checkAll(disk)).findings).toEqual([]);
  }
});

test('with file chunks missing it still works, but leaves packs alone that nobody names', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const disk = await spoil(stage, ...packsOfKind(stage.backend, 'data').map((file) => missing(file)));
  const stranger = 'f'.repeat(64);
  disk.poke(`packs/ff/${stranger}`, Buffer.from('put back by a person, and not named yet'));
  await compact(simulatedProcess(disk));
  expect(disk.peek(`packs/ff/${stranger}`)).toBeDefined();
});

test('removes nothing if a process that was suspended brings a snapshot back before it begins', async () => {
  const { disk, first } = await makeTwoSnapshots();
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  const rename = disk.rename.bind(disk);
  disk.rename = async (source, target) => {
    await rename(source, target);
    if (target.startsWith('condemned/')) await rename(`deleted/${first}`, `snapshots/${first}`);
  };
  const compaction = compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
  await expect(compaction).rejects.toThrow('appeared meanwhile; the removal has not begun');
  disk.rename = rename;
  expect((await checkAll(disk)).findings).toEqual([]);
  await compact(simulatedProcess(disk), { maxUnusedPercent: 0 });
  expect(filesIn(disk, 'snapshots')).toHaveLength(2);
  expect((await checkAll(disk)).findings).toEqual([]);
});

async function expectRefused(disk: MemoryBackend, message: RegExp): Promise<void> {
  const before = contents(disk);
  const options: CompactOptions[] = [{}, { maxUnusedPercent: 0 }, { dryRun: true }];
  for (const option of options) {
    const refusal = compact(simulatedProcess(disk), option);
    await expect(refusal).rejects.toThrow(message);
    await expect(refusal).rejects.toBeInstanceOf(RefusedError);
    await expect(refusal).rejects.toMatchObject({ code: 'REFUSED' });
  }
  expect(contents(disk)).toEqual(before);
}

async function withDeadChunks(): Promise<Stage> {
  const stage = await setDamageStage(memoryDirectory());
  await deleteSnapshots(simulatedProcess(stage.backend), { selectors: presentIds(stage).slice(0, 1), reclaim: false });
  return stage;
}
