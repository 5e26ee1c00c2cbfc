import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { exitCodeOfRepair } from '../../../src/verbs/repair/report.ts';
import { exitCodeOfCheck } from '../../../src/verbs/check/report.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { textOf } from '../../../src/core/util/byte-string.ts';
import { backupWork, setStage, BACKUP } from '../../support/crash-stage.ts';
import { forgeSnapshot } from '../../support/forge-snapshot.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const CHANGES: ReadonlyArray<[string, string, (file: TreeEntry) => Partial<TreeEntry>]> = [
  ['a size and no chunks', 'empty', ({ name }) => (textOf(name) === 'empty' ? { sizeBytes: 77 } : {})],
  ['a byte too many', 'kept', ({ name, sizeBytes }) => (textOf(name) === 'kept' ? { sizeBytes: sizeBytes + 1 } : {})],
  [
    'a chunk too few',
    'kept',
    ({ name, chunkIds }) => (textOf(name) === 'kept' ? { chunkIds: chunkIds.slice(20) } : {}),
  ],
  [
    'a chunk twice',
    'kept',
    ({ name, chunkIds }) =>
      textOf(name) === 'kept' ? { chunkIds: Buffer.concat([chunkIds, chunkIds.subarray(0, 20)]) } : {},
  ],
];

test.each(CHANGES)('a file with %s is found by check and repair, and not restored', async (_, name, change) => {
  const stage = await setStage(memoryDirectory(), BACKUP);
  const { backend } = stage;
  const id = await forgeSnapshot(backend, stage.snapshotIds.at(-1)!, change);
  const impact = { snapshots: [id], paths: [{ snapshot: id, path: `work/${name}` }], pathCount: 1 };
  const expected = { kind: 'file-size', impact };
  const checked = await check(simulatedProcess(backend));
  expect(checked).toMatchObject({ findings: [expected] });
  expect(exitCodeOfCheck(checked)).toBe(4);
  for (const dryRun of [true, false]) {
    const repaired = await repair(simulatedProcess(backend), { dryRun });
    expect(repaired).toMatchObject({ actions: [], remaining: [expected] });
    expect(exitCodeOfRepair(repaired)).toBe(4);
  }
  const target = memoryDirectory();
  const restored = await restore(simulatedProcess(backend), { selector: id, target });
  expect(restored).toMatchObject({ problems: [{ path: `work/${name}`, code: 'CORRUPT_DATA' }] });
  expect(exitCodeOfRestore(restored)).toBe(1);
  expect([name, 'sub/edited'].map((file) => existsSync(join(target, 'work', file)))).toEqual([false, true]);
});

test('a backup stores a file again whose size in the parent snapshot is not that of its chunks', async () => {
  const stage = await setStage(memoryDirectory(), BACKUP);
  const { backend, work } = stage;
  const content = Buffer.alloc(77, 7);
  writeFileSync(join(work, 'empty'), content);
  utimesSync(join(work, 'empty'), 1, 1);
  const made = await backupWork(simulatedProcess(backend), work);
  const forged = await forgeSnapshot(backend, made.snapshotId!, ({ name }) =>
    textOf(name) === 'empty' ? { chunkIds: new Uint8Array() } : {},
  );
  const { snapshotId, parentId, summary } = await backupWork(simulatedProcess(backend), work);
  expect([parentId, summary.filesUnmodified > 0]).toEqual([forged, true]);
  const target = memoryDirectory();
  expect((await restore(simulatedProcess(backend), { selector: snapshotId!, target })).problems).toEqual([]);
  expect(readFileSync(join(target, 'work', 'empty'))).toEqual(content);
});
