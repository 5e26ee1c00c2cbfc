import { expect, test } from 'vitest';

import { exitCodeOfRepair } from '../../../src/verbs/repair/report.ts';
import { LdmError, RefusedError } from '../../../src/core/errors.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import type { RepairOptions, RepairResult } from '../../../src/verbs/repair/repair.ts';
import type { Stage } from '../../support/crash-stage.ts';
import {
  checkAll,
  filesIn,
  flip,
  missing,
  packsOfKind,
  presentIds,
  spoil,
  tryRestoreAll,
} from '../../support/damage.ts';
import type { Damage } from '../../support/damage.ts';
import { filesWith, makeDamageStage, riddled, spoilAtRandom, withDomain } from '../../support/domains.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { fingerprint } from '../../support/interruption.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import {
  contents,
  cutInHalf,
  dataPacks,
  expectNothingLost,
  expectOriginalsKept,
  expectStable,
  first,
  largestPack,
} from '../../support/repair-aftermath.ts';
import { RepeatableRuns } from '../../support/repeatable-runs.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

async function repairWith(
  disk: ConstructorParameters<typeof FaultyBackend>[0],
  options: RepairOptions,
): Promise<RepairResult> {
  return await repair(simulatedProcess(disk), options);
}

async function expectWhole(disk: MemoryBackend, stage: Stage): Promise<void> {
  expect((await checkAll(disk)).findings).toEqual([]);
  for (const outcome of (await tryRestoreAll(disk, stage)).values()) {
    expect(outcome).toMatchObject({ isClaimedWhole: true, wrong: [] });
  }
}

test('a healthy repository is not touched, and no domain is asked', async () => {
  const stage = await makeDamageStage();
  const before = contents(stage.backend);
  await withDomain(stage.backend.copy(), async (domain) => {
    const result = await repairWith(stage.backend, { fromDomains: domain });
    expect(result).toMatchObject({ actions: [], remaining: [], fetched: { chunks: 0, bytes: 0, byDomain: [] } });
    expect(domain.asked).toEqual([]);
  });
  expect(contents(stage.backend)).toEqual(before);
});

/** What happens, and whether chunks must be fetched. */
const CASES: readonly [string, boolean, (disk: MemoryBackend) => Damage[]][] = [
  ['every segment', false, (disk) => filesIn(disk, 'index').map(missing)],
  ['the footers of all packs', false, (disk) => filesIn(disk, 'packs').map((file) => flip(disk, file, -30))],
  ['a block of every pack', true, (disk) => filesIn(disk, 'packs').map((file) => flip(disk, file, 200))],
  ['a missing pack', true, (disk) => [missing(largestPack(disk))]],
  ['half of every data pack', true, (disk) => dataPacks(disk).map((file) => cutInHalf(disk, file))],
  ['every tree', true, (disk) => packsOfKind(disk, 'tree').map(missing)],
  ['every pack', true, (disk) => filesIn(disk, 'packs').map(missing)],
  ['every pack, damaged', true, (disk) => filesIn(disk, 'packs').map((file) => riddled(disk, file))],
  ['every pack and segment', true, (disk) => ['packs', 'index'].flatMap((name) => filesIn(disk, name)).map(missing)],
  [
    'every pack, segment and image',
    true,
    (disk) => ['packs', 'index', 'filter'].flatMap((name) => filesIn(disk, name)).map(missing),
  ],
  ['a manifest and a pack', true, (disk) => [missing(first(disk, 'snapshots')), missing(largestPack(disk))]],
];

test.each(CASES)('%s: mended', async (_name, isFetched, makeDamages) => {
  const stage = await makeDamageStage();
  const damages = makeDamages(stage.backend);
  const disk = await spoil(stage, ...damages);
  const spoiled = disk.copy();
  await withDomain(stage.backend.copy(), async (domain) => {
    const planned = await repairWith(disk, { fromDomains: domain, dryRun: true });
    expect(contents(disk)).toEqual(contents(spoiled));
    const result = await repairWith(disk, { fromDomains: domain });
    expect(planned.fetched).toEqual(result.fetched);
    expect(planned.remaining).toEqual([]);
    expect(result).toMatchObject({ remaining: [] });
    expect(result.fetched!.chunks > 0).toBe(isFetched);
  });
  await expectWhole(disk, stage);
  expectOriginalsKept(disk, spoiled, damages);
  await expectStable(disk);
});

test.each(seedsOf(inSoak(12, 2), 200))('random damage is mended (seed %i)', async (seed) => {
  const stage = await makeDamageStage();
  const disk = await spoilAtRandom(stage, seed);
  await withDomain(stage.backend.copy(), async (domain) => {
    expect([seed, (await repairWith(disk, { fromDomains: domain })).remaining]).toEqual([seed, []]);
  });
  await expectWhole(disk, stage);
  await expectStable(disk);
});

test('what no domain has is named, and only that', async () => {
  const stage = await makeDamageStage();
  const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map(missing));
  const before = await tryRestoreAll(disk, stage);
  const has = (hexId: string, kind: string): boolean =>
    kind === 'tree' || Number.parseInt(hexId.slice(0, 2), 16) % 2 > 0;
  await withDomain(
    stage.backend.copy(),
    async (domain, opened) => {
      const result = await repairWith(disk, { fromDomains: domain });
      expect(exitCodeOfRepair(result)).toBe(4);
      expect(result.fetched!.chunks).toBeGreaterThan(0);
      const outcomes = await tryRestoreAll(disk, stage);
      for (const id of presentIds(stage)) {
        const lost = await filesWith(opened, id, (hexId) => !has(hexId, 'data'));
        expect(lost.length).toBeGreaterThan(0);
        expect(outcomes.get(id)!.absent).toEqual(lost.map((path) => `work/${path}`));
      }
    },
    has,
  );
  await expectNothingLost(disk, stage, before);
});

test('domains that cannot be reached do not keep an ordinary repair', async () => {
  const stage = await makeDamageStage();
  const damages = packsOfKind(stage.backend, 'data').map((file) => flip(stage.backend, file, 200));
  const [disk, other] = [await spoil(stage, ...damages), await spoil(stage, ...damages)];
  const fetch = async (): Promise<never> => Promise.reject(new RefusedError('the agent is gone'));
  const result = await repairWith(disk, { fromDomains: { fetch } });
  expect(result.remaining.length).toBeGreaterThan(0);
  await repairWith(other, {});
  expect(await tryRestoreAll(disk, stage)).toEqual(await tryRestoreAll(other, stage));
});

test.each(['crash', 'error'] as const)(
  '%s at any change of a repair: nothing is lost, and the next one mends',
  async (mode) => {
    const stage = await makeDamageStage();
    const makeDamages = (): Damage[] => [
      missing(packsOfKind(stage.backend, 'tree')[0]!),
      ...packsOfKind(stage.backend, 'data').map((file) => flip(stage.backend, file, 200)),
    ];
    const before = await tryRestoreAll(await spoil(stage, ...makeDamages()), stage);
    const runs = new RepeatableRuns();
    const known = new Set<string>();
    // In the suite, the two modes take different changes.
    let count = inSoak(0, mode === 'crash' ? 0 : 1);
    await withDomain(stage.backend.copy(), async (domain) => {
      for (let hasEnded = false; !hasEnded;) {
        count += inSoak(1, 13);
        const disk = await spoil(stage, ...makeDamages());
        const faulty = new FaultyBackend(disk, { failAt: count, mode, only: isChange });
        const ending = await runs.run(async () => outcomeOf(repairWith(faulty, { fromDomains: domain })));
        hasEnded = ending === 'done' && !faulty.fired;
        const found = fingerprint(disk);
        if (known.has(found)) continue;
        known.add(found);
        if (known.size % 3 === 0) await expectNothingLost(disk.copy(), stage, before);
        const { remaining } = await repairWith(disk, { fromDomains: domain });
        expect([count, faulty.operations.at(-1), remaining]).toEqual([count, faulty.operations.at(-1), []]);
        await expectWhole(disk, stage);
      }
    });
    expect(count).toBeGreaterThan(20);
    expect(known.size).toBeGreaterThan(inSoak(10, 2));
  },
);

/** Locks are for other tests. */
function isChange(operation: string, name: string): boolean {
  return (
    !name.startsWith('locks/') && !['read', 'readRange', 'list', 'sizeOf', 'touch', 'heartbeatOf'].includes(operation)
  );
}

async function outcomeOf(run: Promise<unknown>): Promise<string> {
  return await run.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof SimulatedCrash || error instanceof LdmError) return error.message;
      throw error;
    },
  );
}
