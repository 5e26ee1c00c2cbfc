import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { LdmError, UsageError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { backupWork } from '../../support/crash-stage.ts';
import {
  setDamageStage,
  spoil,
  checkAll,
  checkDescribed,
  filesIn,
  flip,
  missing,
  packsOfKind,
  presentIds,
  tryRestore,
} from '../../support/damage.ts';
import type { Damage } from '../../support/damage.ts';
import { makeDamageStage } from '../../support/domains.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { FlippingBackend } from '../../support/flipping-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { spoilCounts } from '../../support/spoil-counts.ts';
import { seedsOf } from '../../support/seeds.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { inSoak } from '../../support/soak.ts';

const READERS: Readonly<Record<string, (context: OperationContext) => Promise<unknown>>> = {
  check: async (context) => check(context, { readData: true }),
  restore: async (context) => restore(context, { selector: 'latest', target: memoryDirectory() }),
  ls: async (context) => listFiles(context, { selector: 'latest', recursive: true }, () => undefined),
  stats: async (context) => collectStats(context),
  'repair that only plans': async (context) => repair(context, { dryRun: true }),
};

test.each(Object.entries(READERS))('%s writes nothing but its lock', async (_, run) => {
  const { backend } = await makeDamageStage();
  const watched = new FaultyBackend(backend);
  await run(simulatedProcess(watched));
  const harmless = ['read', 'readRange', 'list', 'sizeOf', 'heartbeatOf'];
  const changes = watched.operations.filter(({ operation }) => !harmless.includes(operation));
  expect(changes.length).toBeGreaterThan(0);
  expect(changes.filter(({ name }) => !name.startsWith('locks/'))).toEqual([]);
  expect(filesIn(backend, 'locks')).toEqual([]);
});

test('without --read-data finds what is missing, short or without its footer, and says that it read no data', async () => {
  const stage = await makeDamageStage();
  const pack = packsOfKind(stage.backend, 'data')[0]!;
  const structural: Damage[] = [
    missing(pack),
    shortened(stage.backend, pack),
    flip(stage.backend, pack, -1),
    flip(stage.backend, pack, -90),
  ];
  for (const damage of structural) {
    const result = await checkDescribed(await spoil(stage, damage));
    expect(
      result.findings.filter(({ file }) => file === pack),
      damage.name,
    ).toHaveLength(1);
    expect(result).toMatchObject({ exitCode: 4, readData: false });
  }
  const payload = await checkDescribed(await spoil(stage, flip(stage.backend, pack, 300)));
  expect(payload).toMatchObject({ findings: [], exitCode: 0, readData: false, bytesRead: 0 });
});

test('the parts n/m read every pack exactly once', async () => {
  const stage = await makeDamageStage();
  const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map((file) => flip(stage.backend, file, 200)));
  const whole = await checkAll(disk);
  for (const of of inSoak([1, 2, 7], [2, 7])) {
    const parts = [];
    for (let part = 1; part <= of; part += 1) parts.push(await checkDescribed(disk, { readData: { part, of } }));
    const files = parts.flatMap(({ findings }) =>
      findings.filter(({ kind }) => kind === 'pack-damaged').map(({ file }) => file),
    );
    expect(new Set(files)).toEqual(new Set(filesIn(disk, 'packs')));
    expect(files).toHaveLength(filesIn(disk, 'packs').length);
    expect(parts.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBe(whole.bytesRead);
  }
});

test.each([
  [0, 1],
  [3, 2],
  [1.5, 2],
  [1, Number.NaN],
])('there is no part %d of %d', async (part, of) => {
  const { backend } = await makeDamageStage();
  await expect(check({ backend }, { readData: { part, of } })).rejects.toThrow(UsageError);
});

test('counts that differ from the snapshots are found, and repair counts again', async () => {
  const { backend } = await makeDamageStage();
  await spoilCounts(backend, 'live');
  const { findings, exitCode } = await checkAll(backend);
  expect(findings).toMatchObject([{ kind: 'reference-count', message: /1 chunks differ.* 1 recounted/ }]);
  expect(exitCode).toBe(4);
  await repair(simulatedProcess(backend));
  expect((await checkAll(backend)).findings).toEqual([]);
});

test('damaged packs are found even where their segment is lost', async () => {
  const stage = await makeDamageStage();
  const pack = packsOfKind(stage.backend, 'data')[0]!;
  const segments = filesIn(stage.backend, 'index').map((file) => missing(file));
  for (const offset of [200, -1]) {
    const { findings } = await checkAll(await spoil(stage, ...segments, flip(stage.backend, pack, offset)));
    expect(findings.filter(({ kind, file }) => kind === 'pack-damaged' && file === pack)).toHaveLength(1);
  }
});

test('of a damaged tree every snapshot that shares it is named', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const { backend: disk, work } = stage;
  await backupWork(simulatedProcess(disk), work);
  const older = packsOfKind(disk, 'tree');
  // From here on the trees below `sub` are in an older pack than the root that two snapshots share.
  appendFileSync(join(work, 'kept'), 'more');
  const backups = [await backupWork(simulatedProcess(disk), work), await backupWork(simulatedProcess(disk), work)];
  const { findings } = await checkAll(await spoil(stage, ...older.map((file) => missing(file))));
  for (const { snapshotId } of backups) {
    const paths = findings.flatMap(({ paths: some = [] }) => some.filter(({ snapshot }) => snapshot === snapshotId));
    expect(paths.map(({ path }) => path)).toEqual(['work/sub/deep']);
  }
});

test('both configurations damaged, or both gone, end every command with an error', async () => {
  const stage = await makeDamageStage();
  const names = ['config', 'config.bak'];
  const damaged = await spoil(stage, ...names.map((file) => flip(stage.backend, file, 99)));
  const gone = await spoil(stage, ...names.map((file) => missing(file)));
  for (const run of Object.values(READERS)) {
    await expect(run(simulatedProcess(damaged))).rejects.toMatchObject({ code: 'CORRUPT_DATA' });
    await expect(run(simulatedProcess(gone))).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
  }
});

test.each(seedsOf(1, 20))('reads that are wrong at random never become wrong files (seed %i)', async (seed) => {
  const prng = createPrng(seed);
  const stage = await makeDamageStage();
  let flipCount = 0;
  let refusalCount = 0;
  // One read in 12: a block is one read, and what lies behind it may be wrong. Reading again mends that, so in every
  // third run two of three reads are wrong.
  for (let run = 0; run < inSoak(160, 30); run += 1) {
    const backend = new FlippingBackend(stage.backend, prng, run % 3 === 0 ? 1.5 : 12);
    const id = prng.pick(presentIds(stage));
    const { isClaimedWhole, wrong } = await tryRestore(backend, id, stage.trees.get(id)!);
    expect(wrong, `seed ${seed}, run ${run}`).toEqual([]);
    flipCount += backend.flipCount;
    refusalCount += isClaimedWhole ? 0 : 1;
  }
  expect(flipCount).toBeGreaterThan(10);
  expect(refusalCount).toBeGreaterThan(inSoak(5, 0));
});

test.each(seedsOf(1, 20))('a repair with wrong reads at random loses nothing (seed %i)', async (seed) => {
  const prng = createPrng(seed);
  const stage = await makeDamageStage();
  let flipCount = 0;
  for (let run = 0; run < inSoak(30, 4); run += 1) {
    const disk = stage.backend.copy();
    const flipping = new FlippingBackend(disk, prng, 60);
    await repair(simulatedProcess(flipping)).catch((error: unknown) => {
      if (!(error instanceof LdmError)) throw error;
    });
    flipCount += flipping.flipCount;
    await repair(simulatedProcess(disk));
    expect((await checkAll(disk)).findings, `seed ${seed}, run ${run}`).toEqual([]);
    for (const id of presentIds(stage)) {
      const outcome = await tryRestore(disk, id, stage.trees.get(id)!);
      expect(outcome, `seed ${seed}, run ${run}`).toMatchObject({ isClaimedWhole: true, wrong: [] });
    }
  }
  expect(flipCount).toBeGreaterThan(inSoak(10, 2));
});

function shortened(disk: MemoryBackend, file: string): Damage {
  const bytes = disk.peek(file)!;
  return { name: 'one byte less', file, apply: async (other) => other.poke(file, bytes.subarray(0, -1)) };
}
