import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { countReferences, readPackedChunks, readRoots } from '../../support/brute-force.ts';
import type { PackedChunk } from '../../support/brute-force.ts';
import type { Stage } from '../../support/crash-stage.ts';
import { createPrng } from '../../support/prng.ts';
import { presentIds, setDamageStage } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../../support/test-repository.ts';

test('an empty repository has nothing in it', async () => {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  const stats = await collectStats({ backend });
  expect(stats).toMatchObject({
    snapshotsCount: 0,
    deletedSnapshotsCount: 0,
    logicalBytes: 0,
    logicalFileCount: 0,
    uniqueBytes: 0,
    treeBytes: 0,
    storedBytes: 0,
    dedupRatio: 1,
    compressionRatio: 1,
    packs: { count: 0, bytes: 0, deadBytes: 0, deadRatio: 0 },
    segmentsCount: 0,
  });
  expect(stats.repositoryBytes).toBe(sizeOfAll(backend));
});

test('the figures are those that the packs and snapshots themselves give', async () => {
  const stage = await setDamageStage(memoryDirectory());
  await expectTrueFigures(stage);
  await deleteSnapshots(simulatedProcess(stage.backend), { selectors: presentIds(stage).slice(0, 1), reclaim: false });
  await expectTrueFigures(stage);
  await compact(simulatedProcess(stage.backend), { maxUnusedPercent: 0 });
  await expectTrueFigures(stage);
  expect((await collectStats(simulatedProcess(stage.backend))).packs.deadBytes).toBe(0);
});

test('with nothing dead the live chunks, the footers and the headers are all of the packs', async () => {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  await backup({ backend }, { sources: [import.meta.dirname], cwd: '/' });
  const { packs, storedBytes, uniqueChunkCount, treeCount } = await collectStats({ backend });
  expect(packs).toMatchObject({ count: 2, dataCount: 1, treeCount: 1, deadBytes: 0, unreferencedCount: 0 });
  // Header and trailer of a pack, and of one block in it; 24 bytes for each chunk.
  const footers = 2 * (32 + 24 + 20) + 24 * (uniqueChunkCount + treeCount);
  expect(storedBytes).toBe(packs.bytes - footers);
});

async function expectTrueFigures({ backend, trees }: Stage): Promise<void> {
  const stats = await collectStats(simulatedProcess(backend));
  const chunks = await readPackedChunks(backend);
  const roots = await readRoots(backend);
  const live = [...countReferences(chunks, roots.values()).keys()].map((id) => chunks.get(id)!);
  const data = live.filter(({ kind }) => kind === 'data');
  const treeChunks = live.filter(({ kind }) => kind === 'tree');
  const files = [...roots.keys()].flatMap((id) => filesOf(trees.get(id)!));
  expect(stats).toMatchObject({
    snapshotsCount: roots.size,
    logicalFileCount: files.length,
    logicalBytes: sum(files),
    uniqueBytes: sum(data.map(({ rawBytes }) => rawBytes)),
    uniqueChunkCount: data.length,
    treeCount: treeChunks.length,
    treeBytes: sum(treeChunks.map(({ rawBytes }) => rawBytes)),
    storedBytes: sum(live.map(({ storedBytes }) => storedBytes)),
    repositoryBytes: sizeOfAll(backend),
  });
  expect(stats.dedupRatio).toBeCloseTo(stats.logicalBytes / stats.uniqueBytes, 12);
  expect(stats.compressionRatio).toBeCloseTo((stats.uniqueBytes + stats.treeBytes) / stats.storedBytes, 12);
  expect(stats.packs.deadBytes).toBe(await deadBytes(backend, chunks, live));
  const { chains, savedChains, elements } = stats.filter;
  expect(elements).toBe(live.length);
  for (const { histogram, count } of [chains, savedChains]) {
    expect(sum(histogram.map((chainCount, length) => chainCount * length))).toBe(elements);
    expect(sum(histogram.slice(1))).toBe(count);
  }
  expect(savedChains.count).toBeLessThanOrEqual(chains.count);
}

/** Sizes of the files; a file with several names counts with each. */
function filesOf(tree: ReadonlyMap<string, string>): number[] {
  const entries = [...tree.values()].map((entry) => JSON.parse(entry) as { type: string; size: string });
  return entries.filter(({ type }) => type === 'file').map(({ size }) => Number(size));
}

/** Of each pack what is beyond header, trailer and the live chunks with their lines; a pack wholly live has none. */
async function deadBytes(
  backend: MemoryBackend,
  chunks: ReadonlyMap<string, PackedChunk>,
  live: readonly PackedChunk[],
): Promise<number> {
  let total = 0;
  for (const { name, sizeBytes } of await backend.list('packs')) {
    const inPack = (chunk: PackedChunk): boolean => name.endsWith(chunk.packId);
    const needed = live.filter((chunk) => inPack(chunk));
    const isWhole = [...chunks.values()].filter((chunk) => inPack(chunk)).length === needed.length;
    const usedBytes = sum(needed.map(({ storedBytes }) => storedBytes + 24)) + 32 + 24;
    if (needed.length === 0) total += sizeBytes;
    else if (!isWhole) total += sizeBytes - usedBytes;
  }
  return total;
}

function sizeOfAll(backend: MemoryBackend): number {
  return sum(
    backend
      .names()
      .filter((name) => !name.startsWith('locks/'))
      .map((name) => backend.peek(name)!.length),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test('the distinct files are those whose bytes differ, however they were cut', async () => {
  const prng = createPrng(5);
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const contents = new Map<number, Buffer>();
  const contentOf = (kind: number): Buffer => {
    // Of no chunk, of one, and of several.
    const bytes = kind === 0 ? Buffer.alloc(0) : prng.bytes(kind % 3 === 0 ? 30_000 + kind : 10 + kind);
    return contents.get(kind) ?? contents.set(kind, bytes).get(kind)!;
  };
  const logical: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    rmSync(repository.source, { recursive: true });
    mkdirSync(join(repository.source, 'sub'), { recursive: true });
    for (let index = 0; index < 40; index += 1) {
      const content = contentOf(prng.int(13));
      writeFileSync(join(repository.source, index % 2 === 0 ? 'sub' : '.', `f${index}`), content);
      logical.push(content.length);
    }
    await repository.backup({});
  }
  const stats = await collectStats(repository.context, { byFile: true });
  const distinct = [...contents.values()].map(({ length }) => length);
  expect(stats.byFile).toEqual({
    uniqueFileCount: distinct.length,
    uniqueBytes: sum(distinct),
    dedupRatio: sum(logical) / sum(distinct),
  });
  expect(stats.logicalBytes).toBe(sum(logical));
  expect((await collectStats(repository.context)).byFile).toBeUndefined();
});

test('each host has the figures of its own snapshots', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'x'.repeat(1000));
  for (const [hostname, time] of [
    ['web', '2026-01-03T00:00:00Z'],
    ['web', '2026-01-01T00:00:00Z'],
    ['mail', '2026-01-02T00:00:00Z'],
  ] as const) {
    await repository.backup({ hostname, time });
  }
  const { hosts, logicalBytes } = await collectStats(repository.context);
  expect(hosts.map(({ newest, ...host }) => ({ ...host, newestMs: Date.parse(newest) }))).toEqual([
    { hostname: 'mail', snapshotsCount: 1, logicalBytes: 1000, logicalFileCount: 1, newestMs: Date.UTC(2026, 0, 2) },
    { hostname: 'web', snapshotsCount: 2, logicalBytes: 2000, logicalFileCount: 2, newestMs: Date.UTC(2026, 0, 3) },
  ]);
  expect(logicalBytes).toBe(3000);
});
