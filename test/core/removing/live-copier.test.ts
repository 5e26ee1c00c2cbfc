import { packName } from '../../../src/core/format/layout.ts';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { CorruptDataError, RefusedError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { LiveCopier } from '../../../src/core/removing/live-copier.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { measurePacks } from '../../../src/core/removing/pack-usage.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { CHUNK_ID_BYTES } from '../../../src/core/format/constants.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { OpenedState } from '../../../src/core/repository/opened-state.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { placeOf } from '../store/store-support.ts';
import { readPackContents, readStoredBlock } from '../../../src/core/store/pack-reader.ts';
import { filesIn, flip, packsOfKind, presentIds, setDamageStage, spoil } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { contents } from '../../support/repair-aftermath.ts';
import { SMALL_SIZES, simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { unlockOfTests } from '../../support/test-password.ts';

test('exactly the live chunks are copied, and a block that is wholly live byte for byte', async () => {
  const disk = await thinnedStage();
  await withOpened(disk, async (repository, opened) => {
    const { state } = opened;
    const usages = measurePacks(state).filter(({ liveCount, deadBytes }) => liveCount > 0 && deadBytes > 0);
    const live = new Set<string>();
    const verbatim: string[] = [];
    for (const { pack } of usages) {
      const blocks = await describeBlocks(disk, await readPackContents(plainPlace(disk), pack.id));
      for (const { ids, payload } of blocks) {
        const liveIds = ids.filter((id) => isLive(state, id, pack.id));
        for (const id of liveIds) live.add(id);
        if (liveIds.length === ids.length) verbatim.push(payload);
      }
    }
    expect(verbatim.length).toBeGreaterThan(0);
    const copier = new LiveCopier(repository, opened);
    await copier.copy(usages);
    const copied = [];
    for (const pack of copier.packs) copied.push(...(await describeBlocks(disk, pack)));
    expect(copied.flatMap(({ ids }) => ids).toSorted()).toEqual([...live].toSorted());
    const payloads = copied.map(({ payload }) => payload);
    expect(verbatim.filter((payload) => !payloads.includes(payload))).toEqual([]);
  });
});

test('a live chunk whose bytes are wrong stops the compaction, and nothing is removed', async () => {
  const disk = await deletedStage();
  let refusalCount = 0;
  for (const file of filesIn(disk, 'packs')) {
    const spoiled = disk.copy();
    await flip(disk, file, 200).apply(spoiled);
    const before = contents(spoiled);
    const error = await compact(simulatedProcess(spoiled), { maxUnusedPercent: 0 }).catch((reason: unknown) => reason);
    if (!(error instanceof Error)) continue;
    // A tree that cannot be read stops it earlier.
    if (error instanceof CorruptDataError) refusalCount += 1;
    else expect(error).toBeInstanceOf(RefusedError);
    expect(contents(spoiled)).toEqual(before);
  }
  expect(refusalCount).toBeGreaterThan(0);
});

test('a wrong byte in a block that is stored as it is stops the compaction too: only the ids show it', async () => {
  const disk = await thinnedStage();
  const [pack] = packsOfKind(disk, 'data');
  const { blocks } = await readPackContents(plainPlace(disk), pack!.slice('packs/00/'.length));
  const before = contents(disk);
  let refusalCount = 0;
  for (const { offset, codec, chunkLengths, storedBytes } of blocks) {
    if (codec !== 'raw') continue;
    const spoiled = disk.copy();
    await flip(disk, pack!, offset + 24 + 4 * chunkLengths.length + Math.floor(storedBytes / 2)).apply(spoiled);
    const error = await compact(simulatedProcess(spoiled), { maxUnusedPercent: 0 }).catch((reason: unknown) => reason);
    // A chunk that is dead is not copied.
    if (!(error instanceof CorruptDataError)) continue;
    refusalCount += 1;
    expect(spoiled.names()).toEqual(disk.names());
  }
  expect(refusalCount).toBeGreaterThan(1);
  expect(contents(disk)).toEqual(before);
});

test('a compaction that fails half-way leaves none of its packs behind, and all that were there before', async () => {
  const disk = await thinnedStage();
  const packs = filesIn(disk, 'packs');
  const isSecondPack = (operation: string, name: string): boolean => operation === 'rename' && name.includes('packs/');
  const failing = new FaultyBackend(disk, { failAt: 2, only: isSecondPack });
  await expect(compact(simulatedProcess(failing), { maxUnusedPercent: 0 })).rejects.toThrow();
  failing.assertFired();
  expect(filesIn(disk, 'packs')).toEqual(packs);
});

/** Packs of which some files are left: large ones in blocks of their own, small ones in shared blocks. */
async function thinnedStage(): Promise<MemoryBackend> {
  const backend = new MemoryBackend();
  const context = simulatedProcess(backend);
  await initRepository(context);
  const source = memoryDirectory();
  const prng = createPrng(7);
  const names = Array.from({ length: 24 }, (_, index) => join(source, `file-${index}`));
  for (const [index, name] of names.entries()) writeFileSync(name, prng.bytes(index % 2 === 0 ? 3000 : 500));
  await backup(context, { sources: [source], cwd: source });
  for (const name of names.filter((_, index) => index % 3 === 0)) rmSync(name);
  await backup(context, { sources: [source], cwd: source });
  await deleteSnapshots(context, { selectors: ['latest~1'], reclaim: false });
  return backend;
}

/** Only the newest snapshot of three is left, and nothing is reclaimed. */
async function deletedStage(): Promise<MemoryBackend> {
  const stage = await setDamageStage(memoryDirectory());
  await deleteSnapshots(simulatedProcess(stage.backend), { selectors: presentIds(stage).slice(0, 1), reclaim: false });
  return await spoil(stage);
}

async function withOpened(
  backend: MemoryBackend,
  run: (repository: Repository, opened: OpenedState) => Promise<void>,
): Promise<void> {
  const repository = await Repository.open({
    backend,
    mode: 'exclusive',
    storeSizes: SMALL_SIZES,
    unlock: unlockOfTests,
  });
  try {
    await run(repository, await repository.openState());
  } finally {
    await repository.close();
  }
}

interface DescribedBlock {
  readonly ids: string[];
  /** As stored, in latin1. */
  readonly payload: string;
}

async function describeBlocks(disk: MemoryBackend, pack: PackContents): Promise<DescribedBlock[]> {
  const described: DescribedBlock[] = [];
  for (const block of pack.blocks) {
    const stored = await readStoredBlock(disk, placeOf(pack, block));
    const all = Buffer.from(block.chunkIds);
    const ids = Array.from(block.chunkLengths, (_, index) =>
      all.toString('hex', index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES),
    );
    described.push({ ids, payload: stored.toString('latin1', stored.length - block.storedBytes) });
  }
  expect(disk.peek(packName(pack.id))).toHaveLength(pack.sizeBytes);
  return described;
}

function isLive({ filter, packs }: FilterState, id: string, packId: string): boolean {
  const entry = filter.find(Buffer.from(id, 'hex'), 0);
  return entry >= 0 && filter.refs(entry) > 0 && packs.get(filter.packIndexOf(entry)).id === packId;
}
