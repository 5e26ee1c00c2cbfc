import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { decodeTree } from '../../src/core/format/tree/tree.ts';
import { countReferences, filterCounts, readPackedChunks, readRoots } from '../support/brute-force.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

describe.each(['sha1', 'sha256'] as const)('a file that holds the bytes of a tree, %s', (chunkHash) => {
  let backend: MemoryBackend;
  let source: string;
  const described = new Map<string, ReadonlyMap<string, string>>();

  beforeEach(async () => {
    backend = new MemoryBackend();
    await initRepository({ backend }, { chunkHash });
    source = join(memoryDirectory(), 'source');
    mkdirSync(join(source, 'kept'), { recursive: true });
    mkdirSync(join(source, 'copies'));
    writeFileSync(join(source, 'kept', 'one'), 'first file');
    writeFileSync(join(source, 'kept', 'two'), 'second file');
  });

  async function save(): Promise<string> {
    const { snapshotId } = await backup({ backend }, { sources: [source], cwd: '/' });
    described.set(snapshotId!, describeTree(source));
    return snapshotId!;
  }

  /** Every tree of the repository, as a file among the sources. */
  async function copyTrees(): Promise<Buffer> {
    const trees = [...(await readPackedChunks(backend))].filter(([, chunk]) => chunk.kind === 'tree');
    for (const [id, { bytes }] of trees) writeFileSync(join(source, 'copies', id), bytes!);
    const kept = trees.find(([, { bytes }]) => decodeTree(bytes!).some((entry) => entry.name === 'one'));
    return Buffer.from(kept![1].bytes!);
  }

  async function assertSound(...snapshotIds: string[]): Promise<void> {
    const chunks = await readPackedChunks(backend);
    expect(await filterCounts(backend)).toEqual(countReferences(chunks, (await readRoots(backend)).values()));
    expect((await check({ backend }, { readData: true })).findings).toEqual([]);
    for (const selector of snapshotIds) {
      const target = memoryDirectory();
      await restore({ backend }, { selector, target });
      expect(diffTrees(described.get(selector)!, join(target, 'source'))).toEqual([]);
    }
  }

  test('is stored beside the tree and counted apart', async () => {
    const first = await save();
    const tree = await copyTrees();
    const second = await save();
    const chunks = [...(await readPackedChunks(backend)).values()];
    const sameLength = chunks.filter((chunk) => chunk.rawBytes === tree.length);
    expect(sameLength.map(({ kind }) => kind).sort()).toContain('data');
    await assertSound(first, second);
  });

  test('outlives the tree, and the tree outlives it', async () => {
    const first = await save();
    await copyTrees();
    const both = await save();
    rmSync(join(source, 'kept'), { recursive: true });
    const onlyCopies = await save();
    await deleteSnapshots({ backend }, { selectors: [both], reclaim: false });
    await assertSound(first, onlyCopies);
    await compact({ backend }, { maxUnusedPercent: 0 });
    await assertSound(first, onlyCopies);
    await deleteSnapshots({ backend }, { selectors: [first] });
    await compact({ backend }, { maxUnusedPercent: 0 });
    await assertSound(onlyCopies);
  });

  test('goes, and the tree stays', async () => {
    const first = await save();
    await copyTrees();
    const both = await save();
    await deleteSnapshots({ backend }, { selectors: [both] });
    await compact({ backend }, { maxUnusedPercent: 0 });
    await assertSound(first);
    await deleteSnapshots({ backend }, { selectors: [first] });
    await compact({ backend }, { maxUnusedPercent: 0 });
    expect(await backend.list('packs')).toEqual([]);
  });
});
