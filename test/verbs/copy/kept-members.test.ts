import { expect, test } from 'vitest';

import { decodeSnapshot } from '../../../src/core/format/snapshot.ts';
import { decodeTree } from '../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import { BACKUP, SMALL_INIT, setStage } from '../../support/crash-stage.ts';
import { copyAll, originalsIn } from '../../support/copy-stage.ts';
import { forgeSnapshot } from '../../support/forge-snapshot.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { readPackedChunks } from '../../support/brute-force.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const OTHER_CHUNKS: InitOptions = { capacity: 64, chunker: { kind: 'fixed', sizeBytes: 700 } };

/** The entries of the root and of all directories below, by path, without ids. */
async function entriesOf(disk: MemoryBackend, snapshotId: string): Promise<Map<string, unknown>> {
  const chunks = await readPackedChunks(disk);
  const entries = new Map<string, unknown>();
  const visit = (path: string, treeId: string): void => {
    for (const entry of decodeTree(chunks.get(treeId)!.bytes!)) {
      const { treeId: below, chunkIds, ...rest }: TreeEntry = entry;
      entries.set(`${path}${entry.name}`, { ...rest, isEmpty: chunkIds.length === 0 });
      if (below !== undefined) visit(`${path}${entry.name}/`, Buffer.from(below).toString('hex'));
    }
  };
  visit('', decodeSnapshot(disk.peek(`snapshots/${snapshotId}`)!).tree);
  return entries;
}

test.each([
  ['other ids', SMALL_INIT],
  ['other chunks', OTHER_CHUNKS],
])('extensions of entries, and members of manifests that are not known, are kept (%s)', async (_, options) => {
  const stage = await setStage(memoryDirectory(), BACKUP);
  const others = { reviewers: ['*.o'], remark: { text: 'kept', count: 1e21 } };
  const extensions = [
    { type: 76, bytes: Buffer.from('text') },
    { type: 77, bytes: Buffer.alloc(300, 7) },
  ];
  const forged = await forgeSnapshot(stage.backend, stage.snapshotIds.at(-1)!, () => ({ extensions }), { others });
  const destination = new MemoryBackend();
  await initRepository(simulatedProcess(destination), options);
  const { snapshots } = await copyAll(stage.backend, destination);
  const { copyId } = snapshots.find(({ id }) => id === forged)!;
  const copied = decodeSnapshot(destination.peek(`snapshots/${copyId}`)!);
  expect(copied).toMatchObject({ others, original: forged });
  const before = await entriesOf(stage.backend, forged);
  expect(await entriesOf(destination, copyId!)).toEqual(before);
  expect(before.get('work/kept')).toMatchObject({
    extensions: [{ type: 76 }, { type: 77 }],
    hardlink: { linkCount: 2 },
  });
});

test('a copy of a copy is known as one of the first original', async () => {
  const { backend, snapshotIds } = await setStage(memoryDirectory(), BACKUP);
  const [first, second] = [new MemoryBackend(), new MemoryBackend()];
  for (const disk of [first, second]) await initRepository(simulatedProcess(disk), SMALL_INIT);
  await copyAll(backend, first);
  await copyAll(first, second);
  expect(originalsIn(second).toSorted()).toEqual(snapshotIds.toSorted());
  const { snapshots } = await copyAll(backend, second);
  expect(snapshots.map(({ added }) => added)).toEqual([undefined, undefined, undefined]);
  expect(originalsIn(second)).toHaveLength(3);
});
