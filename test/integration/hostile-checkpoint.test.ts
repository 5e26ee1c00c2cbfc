import { rmSync, writeFileSync } from 'node:fs';
import { WorkSizes } from '../../src/core/util/work-limits.ts';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { exitCodeOfCheck } from '../../src/verbs/check/report.ts';
import { ChunkHasher } from '../../src/core/crypto/chunk-hasher.ts';
import type { FilterState } from '../../src/core/ldm/filter-state.ts';
import { NIL } from '../../src/core/ldm/entry-table.ts';
import type { RepositoryConfig } from '../../src/core/format/config.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compareStates } from '../../src/core/damage/state-comparison.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { openConfig } from '../../src/core/repository/config-file.ts';
import { openState } from '../../src/core/repository/open-state.ts';
import type { OpenedState } from '../../src/core/repository/opened-state.ts';
import { backupWork } from '../support/crash-stage.ts';
import type { Stage } from '../support/crash-stage.ts';
import { filesIn, setDamageStage, tryRestore, tryRestoreAll } from '../support/damage.ts';
import { ATTACKS, partsOf, resign } from '../support/hostile-checkpoint.ts';
import type { CheckpointParts } from '../support/hostile-checkpoint.ts';
import { BlockCodec } from '../../src/core/store/block-codec.ts';
import { Compressor } from '../../src/core/workers/compression.ts';
import { TaskPool } from '../../src/core/workers/task-pool.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { seedsOf } from '../support/seeds.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { writeImage } from '../support/spoil-counts.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { PLAIN } from '../../src/core/crypto/seals.ts';
import { plainPlace } from '../support/plain-place.ts';

const REFS_WORD = 10;
const SEEDS = seedsOf(1, 20);

/** A repository with live and dead chunks whose only checkpoint covers all of it. */
let directory: string;
let stage: Stage;
let config: RepositoryConfig;
let name: string;
let image: Buffer;
let recounted: OpenedState;
beforeAll(async () => {
  directory = makeTemporaryDirectory();
  stage = await setDamageStage(directory);
  const { backend } = stage;
  config = (await openConfig(backend)).config;
  for (const file of filesIn(backend, 'filter')) await backend.remove(file);
  await writeImage(backend);
  name = filesIn(backend, 'filter')[0]!;
  image = backend.peek(name)!;
  recounted = await open(backend, { ignoreCheckpoints: true });
  expect(recounted.state.filter.deadCount).toBeGreaterThan(0);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const threads = new TaskPool();

async function open(
  backend: MemoryBackend,
  options: { readonly ignoreCheckpoints?: boolean } = {},
): Promise<OpenedState> {
  return await openState({
    ...plainPlace(backend),
    config,
    codec: new BlockCodec({
      seals: PLAIN,
      hasher: hasherOf(config),
      threads,
      compressor: new Compressor(threads, config.compression.level),
    }),
    work: new WorkSizes(),
    ...options,
  });
}

function hasherOf({ chunkHash, idKey }: RepositoryConfig): ChunkHasher {
  return new ChunkHasher(chunkHash, Buffer.from(idKey, 'hex'));
}

function withImage(bytes: Buffer): MemoryBackend {
  const disk = stage.backend.copy();
  disk.poke(name, bytes);
  return disk;
}

/** What a state says, apart from how it is laid out in memory. */
function describeRest({ filter, snapshots, segments, absentPacks, packs }: FilterState): unknown {
  const { capacity: _, positions: __, fprPredicted: ___, ...plan } = filter.plan;
  const trees = new Map([...snapshots].map(([id, { tree, manifest }]) => [id, Buffer.concat([tree, manifest])]));
  const infos = [...packs.ids()].map((id) => packs.get(packs.find(id)!));
  return { plan, trees, segments, absentPacks, infos: infos.sort((a, b) => (a.id < b.id ? -1 : 1)) };
}

describe('a checkpoint with any word changed and its digest made right', () => {
  const CHANGES: ReadonlyArray<(word: number, random: number) => number> = [
    (word) => word ^ 1,
    (word) => word + 1,
    () => 0,
    () => NIL,
    (_, random) => random,
  ];

  test.each(SEEDS)(
    'is rejected, or gives the same state; only reference counts are left to check and repair (seed %i)',
    async (seed) => {
      const prng = createPrng(seed);
      const parts = partsOf(image);
      const expected = describeRest(recounted.state);
      let rejectedCount = 0;
      let trustedRefs = 0;
      for (const offset of wordsOf(parts).filter((_, index) => index % inSoak(1, 17) === 0)) {
        const change = prng.pick(CHANGES);
        const mutated = Buffer.from(image);
        mutated.writeUInt32LE(change(mutated.readUInt32LE(offset), prng.int(2 ** 31)) >>> 0, offset);
        if (mutated.equals(image)) continue;
        const opened = await open(withImage(resign(mutated)));
        const what = `seed ${seed}, offset ${offset} in ${JSON.stringify(parts)}`;
        if (opened.checkpoint === undefined) {
          expect(opened.damage.checkpoints.has(name) || opened.damage.lostSegments.length > 0, what).toBe(true);
          rejectedCount += 1;
        }
        if (!isDeepStrictEqual(describeRest(opened.state), expected)) expect.fail(what);
        const { count } = compareStates(opened.state, recounted.state);
        const isRefs = offset >= parts.entries && ((offset - parts.entries) / 4) % 12 === REFS_WORD;
        if (!isRefs) expect(count, what).toBe(0);
        trustedRefs += count;
      }
      expect(rejectedCount).toBeGreaterThan(inSoak(800, 44));
      expect(trustedRefs).toBeLessThan(parts.header.liveCount + 1);
    },
  );

  test.each(SEEDS)('is never relied on by a backup, and repair rebuilds it (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const parts = partsOf(image);
    for (let run = 0; run < inSoak(20, 2); run += 1) {
      const mutated = Buffer.from(image);
      const offsets = Array.from({ length: 1 + prng.int(3) }, () => randomOffset(parts, prng.int(2 ** 30)));
      for (const offset of offsets) {
        mutated.writeUInt32LE(prng.pick(CHANGES)(mutated.readUInt32LE(offset), prng.int(2 ** 31)) >>> 0, offset);
      }
      if (mutated.equals(image)) continue;
      await expectSurvived(withImage(resign(mutated)), `seed ${seed}, run ${run}, offsets ${offsets.join(' ')}`);
    }
  });
});

/** The offsets of all words but the version and the checksums; of the many empty chains of the dead, some. */
function wordsOf(parts: CheckpointParts): number[] {
  const offsets: number[] = [];
  const add = (start: number, end: number, step = 4): void => {
    for (let offset = start; offset + 4 <= end; offset += step) offsets.push(offset);
  };
  add(12, 80);
  add(parts.segments, parts.packs);
  add(parts.packs, parts.deadHeads);
  add(parts.deadHeads, parts.entries, 28);
  add(parts.entries, parts.digest);
  return offsets;
}

/** Mostly in the small parts and in the entries: heads and counters are the most of a small image. */
function randomOffset(parts: CheckpointParts, random: number): number {
  const starts = [12, parts.segments, parts.snapshots, parts.packs, parts.counters, parts.liveHeads, parts.deadHeads];
  const all = [...starts, parts.entries, parts.entries, parts.entries, parts.digest];
  const index = random % (all.length - 1);
  const start = all[index]!;
  const end = all.find((each) => each > start)!;
  return start + ((random >>> 4) % Math.floor((end - start) / 4)) * 4;
}

/** A backup on top restores; check finds the checkpoint unless it is replaced by then, and repair sets it aside. */
async function expectSurvived(disk: MemoryBackend, what: string): Promise<void> {
  const spoiled = disk.peek(name)!;
  const other = disk.copy();
  const { snapshotId } = await backupWork(simulatedProcess(other), stage.work);
  expect(await tryRestore(other, snapshotId!, stage.workTree), what).toMatchObject({ isClaimedWhole: true, wrong: [] });
  for (const outcome of (await tryRestoreAll(disk, stage)).values()) {
    expect(outcome, what).toMatchObject({ isClaimedWhole: true, wrong: [] });
  }
  const found = await check(simulatedProcess(disk));
  const planned = await repair(simulatedProcess(disk), { dryRun: true });
  const { actions, remaining } = await repair(simulatedProcess(disk));
  expect([planned.actions, planned.remaining], what).toEqual([actions, remaining]);
  if (exitCodeOfCheck(found) === 4) {
    const aside = filesIn(disk, 'quarantine').map((file) => disk.peek(file)!);
    const isRemoved = actions.some(({ kind }) => kind === 'checkpoint-removed');
    expect(isRemoved || aside.some((bytes) => bytes.equals(spoiled)), what).toBe(true);
  }
  expect((await check(simulatedProcess(disk))).findings, what).toEqual([]);
  expect((await repair(simulatedProcess(disk))).actions, what).toEqual([]);
}

test.each(ATTACKS)('a checkpoint with $what is set aside', async ({ what, message, change }) => {
  const mutated = Buffer.from(image);
  change(mutated, partsOf(image));
  expect(mutated.equals(image)).toBe(false);
  const disk = withImage(resign(mutated));
  const { findings } = await check(simulatedProcess(disk));
  expect(findings).toMatchObject([{ kind: 'checkpoint-damaged', name, reason: message }]);
  await expectSurvived(disk, what);
});

describe.each(['dead', 'live'] as const)('a chunk in the checkpoint that no pack holds: %s', (kind) => {
  const CONTENT = Buffer.from('nobody has ever stored this');

  function spoilSegments(disk: MemoryBackend): void {
    for (const file of filesIn(disk, 'index')) disk.poke(file, Buffer.alloc(100));
  }

  /** As the program itself would write it if it had lost count of its chunks. */
  async function writePhantom(backend: MemoryBackend): Promise<void> {
    const id = hasherOf(config).dataId(CONTENT);
    await writeImage(backend, ({ filter }) => {
      let known = -1;
      filter.forEachEntry((entry) => (known = entry));
      const entry = filter.insert(id, 0, { ...filter.location(known), lengthBytes: CONTENT.length });
      if (kind === 'live') filter.retain(entry);
    });
  }

  test.each([
    ['', (): void => undefined],
    [', nor where the segments are damaged', (disk: MemoryBackend): void => spoilSegments(disk)],
  ])('a backup does not rely on it%s', async (_, spoil) => {
    const disk = stage.backend.copy();
    await writePhantom(disk);
    spoil(disk);
    const file = join(stage.work, 'phantom');
    writeFileSync(file, CONTENT);
    try {
      const { snapshotId } = await backupWork(simulatedProcess(disk), stage.work);
      const tree = new Map([...stage.workTree].filter(([path]) => path !== ''));
      const outcome = await tryRestore(disk, snapshotId!, tree);
      expect(outcome.isClaimedWhole).toBe(true);
      expect(outcome.absent).toEqual([]);
    } finally {
      rmSync(file);
    }
  });
});
