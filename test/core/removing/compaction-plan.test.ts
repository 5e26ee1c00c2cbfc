import { expect, test } from 'vitest';

import { packName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { planCompaction } from '../../../src/core/removing/compaction-plan.ts';
import type { CompactionPlan, DeadSpaceLimit } from '../../../src/core/removing/compaction-plan.ts';
import { measurePacks } from '../../../src/core/removing/pack-usage.ts';
import type { PackUsage } from '../../../src/core/removing/pack-usage.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { Stage } from '../../support/crash-stage.ts';
import { checkAll, filesIn, presentIds, setDamageStage, tryRestoreAll } from '../../support/damage.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { unlockOfTests } from '../../support/test-password.ts';

test('0: no dead byte stays; every pack with one is rewritten', async () => {
  const { backend } = await partlyDead();
  const { plan, usages } = await planOf(backend, 0);
  const expected = usages.filter(({ liveCount, deadBytes }) => liveCount > 0 && deadBytes > 0);
  expect(expected.length).toBeGreaterThan(0);
  expect(idsOf(plan.rewritten)).toEqual(idsOf(expected));
  expect(plan.deadBytesRemaining).toBe(0);
});

test('100: packs without a live chunk go all the same, no other is rewritten', async () => {
  const { backend } = await partlyDead();
  const { plan, usages } = await planOf(backend, 100);
  const unused = usages.filter(({ liveCount }) => liveCount === 0);
  expect(unused.length).toBeGreaterThan(0);
  expect(plan.rewritten).toEqual([]);
  expect(idsOf(plan.removed)).toEqual(idsOf(unused));
  expect(plan.deadBytesRemaining).toBe(deadOf(usages.filter(({ liveCount }) => liveCount > 0)));
});

test('between: the packs with the largest dead part go first, and not one more than needed', async () => {
  const { backend } = await partlyDead();
  for (const percent of [1, 5, 20, 50]) {
    const { plan, usages } = await planOf(backend, percent);
    const used = usages.filter(({ liveCount }) => liveCount > 0);
    const isRewritten = ({ pack }: PackUsage): boolean => plan.rewritten.some((other) => other.pack.id === pack.id);
    const kept = used.filter((usage) => !isRewritten(usage));
    expect(partUnused(used, plan.rewritten)).toBeLessThanOrEqual(percent / 100);
    const last = plan.rewritten.at(-1);
    if (last === undefined) continue;
    expect(partUnused(used, plan.rewritten.slice(0, -1))).toBeGreaterThan(percent / 100);
    expect(Math.min(...plan.rewritten.map((usage) => deadPart(usage)))).toBeGreaterThanOrEqual(
      Math.max(0, ...kept.map((usage) => deadPart(usage))),
    );
  }
});

test('an amount is a limit like a percentage, and no limit leaves every pack with a live chunk', async () => {
  const { backend } = await partlyDead();
  const all = (await planOf(backend, 0)).plan;
  const deadBytes = deadOf(all.rewritten);
  for (const bytes of [0, Math.floor(deadBytes / 2), deadBytes - 1]) {
    const { plan } = await planOf(backend, { percent: 0, bytes });
    expect(plan.rewritten.length).toBeGreaterThan(0);
    expect(plan.deadBytesRemaining).toBeLessThanOrEqual(bytes);
    expect(plan.deadBytesRemaining + plan.rewritten.at(-1)!.deadBytes).toBeGreaterThan(bytes);
  }
  for (const limit of [{ percent: 0, bytes: deadBytes }, { percent: Infinity }]) {
    const { plan } = await planOf(backend, limit);
    expect(plan.rewritten).toEqual([]);
    expect(plan.removed.length).toBeGreaterThan(0);
    expect(plan.deadBytesRemaining).toBe(deadBytes);
  }
});

test('a limit on the work takes the first packs of the plan, and the next compaction the others', async () => {
  const stage = await partlyDead();
  const { backend } = stage;
  const { rewritten } = (await planOf(backend, 0)).plan;
  expect(rewritten.length).toBeGreaterThan(1);
  const maxRepackBytes = rewritten[0]!.pack.sizeBytes;
  const options = { maxUnusedPercent: 0, maxRepackBytes };
  const idle = await compact(simulatedProcess(backend), { ...options, maxRepackBytes: 0 });
  expect(idle).toMatchObject({ packsRewritten: 0, deadBytesRemaining: deadOf(rewritten) });
  expect(idle.packsRemoved).toBeGreaterThan(0);
  const promised = await compact(simulatedProcess(backend), { ...options, dryRun: true });
  const first = await compact(simulatedProcess(backend), options);
  expect([promised.packsRewritten, first.packsRewritten]).toEqual([1, 1]);
  expect(first.deadBytesRemaining).toBe(deadOf(rewritten.slice(1)));
  expect((await checkAll(backend)).findings).toEqual([]);
  const last = await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
  expect(last).toMatchObject({ packsRewritten: rewritten.length - 1, deadBytesRemaining: 0 });
  const present = new Set(filesIn(backend, 'snapshots').map((file) => file.slice('snapshots/'.length)));
  for (const [id, outcome] of await tryRestoreAll(backend, stage)) {
    if (present.has(id)) expect(outcome).toMatchObject({ isClaimedWhole: true, wrong: [] });
  }
});

test('what nobody names goes, unless something is missing', async () => {
  const { backend } = await partlyDead();
  const stranger = 'e'.repeat(64);
  backend.poke(`packs/ee/${stranger}`, Buffer.from('left by a backup that was interrupted'));
  const { plan } = await planOf(backend, 100);
  expect(plan.orphanIds).toEqual([stranger]);
  // What was put back may be the pack that is missed now.
  const [lost] = plan.keptIds;
  await backend.remove(packName(lost!));
  expect((await planOf(backend, 100)).plan.orphanIds).toEqual([]);
});

test('a compaction does what its plan says, and what it frees is what the files lost', async () => {
  for (const maxUnusedPercent of [0, 5, 100]) {
    const stage = await partlyDead();
    const { backend } = stage;
    const { plan } = await planOf(backend, maxUnusedPercent);
    const sizeBefore = sizeOfAll(backend);
    const promised = await compact(simulatedProcess(backend), { maxUnusedPercent, dryRun: true });
    const removedBytes = plan.removed.reduce((total, { pack }) => total + pack.sizeBytes, 0);
    const deadBytes = plan.rewritten.reduce((total, usage) => total + usage.deadBytes, 0);
    expect(promised).toMatchObject({
      dryRun: true,
      reclaimedBytes: removedBytes + deadBytes,
      bytesCopied: 0,
      packsAfter: promised.packsBefore - plan.removed.length,
    });
    expect(sizeOfAll(backend)).toBe(sizeBefore);
    const result = await compact(simulatedProcess(backend), { maxUnusedPercent });
    expect(result).toMatchObject({
      packsRemoved: plan.removed.length,
      packsRewritten: plan.rewritten.length,
      deadBytesRemaining: plan.deadBytesRemaining,
      reclaimedBytes: sizeBefore - sizeOfAll(backend),
      packsAfter: filesIn(backend, 'packs').length,
    });
    expect((await collectStats(simulatedProcess(backend))).packs.deadBytes).toBe(plan.deadBytesRemaining);
    expect((await checkAll(backend)).findings).toEqual([]);
    const present = new Set(filesIn(backend, 'snapshots').map((file) => file.slice('snapshots/'.length)));
    for (const [id, outcome] of await tryRestoreAll(backend, stage)) {
      if (present.has(id)) expect(outcome).toMatchObject({ isClaimedWhole: true, wrong: [] });
    }
  }
});

/** Of three snapshots only the newest is left: some packs are dead as a whole, some in part. */
async function partlyDead(): Promise<Stage> {
  const stage = await setDamageStage(memoryDirectory());
  await deleteSnapshots(simulatedProcess(stage.backend), { selectors: presentIds(stage).slice(0, 1), reclaim: false });
  return stage;
}

async function planOf(
  backend: MemoryBackend,
  limit: number | DeadSpaceLimit,
): Promise<{ readonly plan: CompactionPlan; readonly usages: PackUsage[] }> {
  const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
  try {
    const { state, listing } = await repository.openState();
    return {
      plan: planCompaction(state, listing, typeof limit === 'number' ? { percent: limit } : limit),
      usages: measurePacks(state),
    };
  } finally {
    await repository.close();
  }
}

/** The dead part of what is stored once these packs are rewritten. */
function partUnused(used: readonly PackUsage[], rewritten: readonly PackUsage[]): number {
  const sizeBytes = used.reduce((sum, { pack }) => sum + pack.sizeBytes, 0);
  return (deadOf(used) - deadOf(rewritten)) / (sizeBytes - deadOf(rewritten));
}

function deadPart({ deadBytes, pack }: PackUsage): number {
  return deadBytes / pack.sizeBytes;
}

function deadOf(usages: readonly PackUsage[]): number {
  return usages.reduce((sum, { deadBytes }) => sum + deadBytes, 0);
}

function idsOf(usages: readonly PackUsage[]): string[] {
  return usages.map(({ pack }) => pack.id).sort();
}

function sizeOfAll(backend: MemoryBackend): number {
  const names = backend.names().filter((name) => !name.startsWith('locks/'));
  return names.reduce((sum, name) => sum + backend.peek(name)!.length, 0);
}
