import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { measureRelease } from '../../src/core/ldm/fold-release.ts';
import { PACK_HEADER_BYTES, PACK_TRAILER_BYTES } from '../../src/core/format/constants.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { collectStats } from '../../src/verbs/stats/stats.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import { readPackedChunks, readRoots, totalFreedBy, totalOf } from '../support/brute-force.ts';
import type { PackedChunk } from '../support/brute-force.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { SMALL_SIZES } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { SmallSource } from '../support/small-source.ts';
import { memoryDirectory, withTemporaryDirectory } from '../support/temp-directory.ts';
import { TINY_CHUNKS, makeTestRepository } from '../support/test-repository.ts';

const SEED = 20261120;
const SNAPSHOT_COUNT = 12;
const SET_COUNT = inSoak(1000, 60);

describe('what a delete says it frees', () => {
  let backend: MemoryBackend;
  let ids: readonly string[];
  let roots: ReadonlyMap<string, string>;
  let chunks: ReadonlyMap<string, PackedChunk>;

  beforeAll(async () => {
    backend = new MemoryBackend();
    await initRepository({ backend }, { chunker: TINY_CHUNKS, capacity: 16 });
    await withTemporaryDirectory(async (directory) => {
      const source = new SmallSource(directory, createPrng(SEED));
      for (let count = 0; count < SNAPSHOT_COUNT; count += 1) {
        for (let change = 0; change < 4; change += 1) source.mutate();
        const sources = source.pickRoots().map((root) => join(directory, root));
        await backup({ backend, storeSizes: SMALL_SIZES }, { sources, cwd: '/', force: true });
      }
    });
    roots = await readRoots(backend);
    ids = [...roots.keys()];
    chunks = await readPackedChunks(backend);
  });

  test(`is what a walk over all trees finds, for ${SET_COUNT} random sets`, async () => {
    const prng = createPrng(SEED);
    const repository = await Repository.open({ backend, mode: 'shared' });
    const { state, reader } = await repository.openState();
    await repository.close();
    for (let count = 0; count < SET_COUNT; count += 1) {
      const chance = 1 + prng.int(6);
      const deleted = new Set(ids.filter(() => prng.int(6) < chance));
      const measured = await measureRelease(state, [...deleted], reader.readTree);
      expect(measured, `set ${count}: ${[...deleted].join()}`).toEqual(totalFreedBy(chunks, roots, deleted));
    }
  });

  test('is not the sum of the single answers: what only the members of a set share counts too', async () => {
    const singles = ids.map((id) => totalFreedBy(chunks, roots, new Set([id])));
    const sum = singles.reduce((total, { rawBytes }) => total + rawBytes, 0);
    const { freed } = await deleteSnapshots({ backend }, { selectors: ids, dryRun: true });
    expect(freed).toEqual(totalOf(chunks, chunks.keys()));
    expect(freed.rawBytes).toBeGreaterThan(sum);
  });

  test('is the same beforehand and for real, and dead afterwards', async () => {
    const prng = createPrng(SEED + 1);
    for (let count = 0; count < inSoak(10, 4); count += 1) {
      const context = { backend: backend.copy() };
      const selectors = ids.filter(() => prng.int(3) === 0);
      if (selectors.length === 0) continue;
      const before = await collectStats(context);
      const dry = await deleteSnapshots(context, { selectors, dryRun: true });
      expect((await collectStats(context)).snapshotsCount).toBe(SNAPSHOT_COUNT);
      const real = await deleteSnapshots(context, { selectors, reclaim: false });
      expect(real.freed).toEqual(dry.freed);
      expect(real.freed).toEqual(totalFreedBy(chunks, roots, new Set(selectors)));
      const after = await collectStats(context);
      expect(before.storedBytes - after.storedBytes).toBe(real.freed.storedBytes);
      const rawBytes = (stats: typeof after): number => stats.uniqueBytes + stats.treeBytes;
      expect(rawBytes(before) - rawBytes(after)).toBe(real.freed.rawBytes);
    }
  });

  test('adds up to every block of every pack when everything goes', async () => {
    const context = { backend: backend.copy() };
    const { freed, compaction } = await deleteSnapshots(context, { selectors: ids });
    const packBytes = (await backend.list('packs')).reduce((total, { sizeBytes }) => total + sizeBytes, 0);
    expect(freed.storedBytes).toBe(packBytes - (await overheadBytes()));
    expect(compaction).toMatchObject({ packsAfter: 0, deadBytesRemaining: 0 });
    expect(compaction!.chunksRemoved).toBe(chunks.size);
  });

  /** What packs have beside their blocks: the header, and the footer with its trailer, which says how long it is. */
  async function overheadBytes(): Promise<number> {
    let totalBytes = 0;
    for (const { name } of await backend.list('packs')) {
      const trailer = (await backend.read(name)).subarray(-PACK_TRAILER_BYTES);
      totalBytes += PACK_HEADER_BYTES + trailer.readUInt32LE(8) + PACK_TRAILER_BYTES;
    }
    return totalBytes;
  }
});

describe('what the file system gets back', () => {
  test('is the difference of the sizes of all files', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const prng = createPrng(SEED + 2);
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      for (let file = 0; file < 10; file += 1) {
        writeFileSync(join(repository.source, `${count}-${file}`), prng.bytes(20_000));
        rmSync(join(repository.source, `${count - 1}-${file * 2}`), { force: true });
      }
      ids.push((await repository.backup()).snapshotId!);
    }
    const place = join(repository.directory, 'repository');
    for (const selectors of [[ids[1]!], [ids[0]!, ids[2]!], [ids[3]!]]) {
      const before = sizeOnDisk(place);
      const { compaction, freed } = await deleteSnapshots(repository.context, { selectors });
      const gained = before - sizeOnDisk(place);
      expect(compaction!.reclaimedBytes).toBe(gained);
      expect(compaction!.bytesBefore - compaction!.bytesAfter).toBe(gained);
      expect(freed.storedBytes).toBeGreaterThan(100_000);
      expect(gained).toBeGreaterThan(freed.storedBytes * 0.9);
    }
  });

  function sizeOnDisk(directory: string): number {
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
    // Manifests move from snapshots/ to deleted/ before the compaction measures, and locks come and go empty.
    return entries
      .filter((entry) => entry.isFile())
      .reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
  }
});

describe('adoption', () => {
  test('a backup does not store what a deleted snapshot still has, until a compaction has reclaimed it', async () => {
    const backend = new MemoryBackend();
    await initRepository({ backend });
    const source = join(memoryDirectory(), 'source');
    mkdirSync(source);
    for (const name of ['one', 'two']) writeFileSync(join(source, name), createPrng(SEED).bytes(50_000) + name);
    const save = async (): ReturnType<typeof backup> => backup({ backend }, { sources: [source], cwd: '/' });

    const first = await save();
    expect(first.summary.dataAdded).toBeGreaterThan(100_000);
    await deleteSnapshots({ backend }, { selectors: [first.snapshotId!], reclaim: false });
    const adopting = await save();
    expect(adopting.summary).toMatchObject({ dataAdded: 0, dataBlobs: 0, treeBlobs: 0, dataAddedPacked: 0 });

    await deleteSnapshots({ backend }, { selectors: [adopting.snapshotId!], reclaim: false });
    await compact({ backend });
    const anew = await save();
    expect(anew.summary.dataAdded).toBe(first.summary.dataAdded);
    expect(anew.summary.dataBlobs).toBe(first.summary.dataBlobs);
  });
});
