import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { initRepository } from '../../src/core/creating/init.ts';
import { createRealm } from '../../src/realm/verbs/realm/create.ts';
import { joinRealm } from '../../src/realm/verbs/realm/join.ts';
import { BROKEN_ORDERS } from '../support/broken-lending.ts';
import { LendingModel } from '../support/lending-model.ts';
import type { OpenSide, Pair } from '../support/lending-model.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { runSeeded } from '../support/repeatable-runs.ts';
import { scheduledDirectory } from '../support/scheduled-process.ts';
import { fixedRange, seedRange, seedsIn } from '../support/seeds.ts';
import type { SeedRange } from '../support/seeds.ts';
import { optionsOfTests } from '../support/simulated-process.ts';
import { inFirstPart, inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { TINY_CHUNKS } from '../support/test-repository.ts';
import { takeThreadsAway } from '../support/test-threads.ts';

// A model check of the real operations of two domains, of which one relies on the other.

const SEEDS = seedRange(Number(process.env['LDM_TEST_SCHEDULES'] ?? inSoak(5000, 12)));
const TIMEOUT_MS = 6 * 60 * 60_000;

let giveThreadsBack: () => void;

beforeAll(() => {
  giveThreadsBack = takeThreadsAway();
});

afterAll(() => giveThreadsBack());

interface RunResult {
  readonly loss: string | undefined;
  readonly outcomes: ReadonlyMap<string, number>;
  readonly borrowedCount: number;
  readonly lostLockCount: number;
}

async function newPair(coordinator: string): Promise<Pair> {
  const file = join(memoryDirectory(), 'work.realm');
  await createRealm({ file, isEncrypted: false, chunker: TINY_CHUNKS });
  const pair = { owner: new MemoryBackend(), holder: new MemoryBackend() };
  for (const side of ['owner', 'holder'] as const) {
    const context = { backend: pair[side], ...optionsOfTests() };
    await initRepository(context, { capacity: 64, encryption: 'never', realm: { file } });
    await joinRealm(context, { coordinator, name: side });
  }
  return pair;
}

function makeSources(): string[] {
  const directory = memoryDirectory();
  return Array.from({ length: 5 }, (_, index) => {
    const path = join(directory, `file-${index}`);
    writeFileSync(path, createPrng(index).bytes(500 + 700 * index));
    return path;
  });
}

interface Plan {
  /** Until then, more schedules are run. */
  readonly isEnough: (result: RunResult) => boolean;
  readonly isOwnerBusy: boolean;
}

async function runSchedules(
  seeds: SeedRange,
  open: OpenSide,
  { isEnough = () => true, isOwnerBusy = false }: Partial<Plan> = {},
): Promise<RunResult> {
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const coordinator = memoryDirectory();
  const empty = await runSeeded(0, async () => newPair(coordinator));
  const atFirst = memoryDirectory();
  cpSync(coordinator, atFirst, { recursive: true });
  const sources = makeSources();
  const outcomes = new Map<string, number>();
  let result: RunResult = { loss: undefined, outcomes, borrowedCount: 0, lostLockCount: 0 };
  for (const seed of seedsIn(seeds, 10, () => isEnough(result))) {
    rmSync(coordinator, { recursive: true });
    cpSync(atFirst, coordinator, { recursive: true });
    const pair = { owner: empty.owner.copy(), holder: empty.holder.copy() };
    const model = new LendingModel({ pair, seed, sources, open, isOwnerBusy });
    await runSeeded(seed, async () => model.run());
    for (const [key, times] of model.outcomes) outcomes.set(key, (outcomes.get(key) ?? 0) + times);
    result = {
      loss: model.loss === undefined ? undefined : `seed ${seed}: ${model.loss}`,
      outcomes,
      borrowedCount: result.borrowedCount + model.borrowedCount,
      lostLockCount: result.lostLockCount + model.lostLockCount,
    };
    if (result.loss !== undefined) return result;
  }
  return result;
}

const KINDS = ['owner compact', 'owner delete', 'holder backup', 'holder delete', 'holder compact', 'holder adopt'];

test(
  `no snapshot loses a chunk that another domain keeps, whoever sleeps when ${SEEDS.name}`,
  async () => {
    const isDone = ({ outcomes, borrowedCount }: RunResult): boolean =>
      borrowedCount > 0 && KINDS.every((kind) => outcomes.has(`${kind} done`));
    const { loss, outcomes, borrowedCount, lostLockCount } = await runSchedules(SEEDS, () => scheduledDirectory(), {
      isEnough: isDone,
    });
    expect(loss).toBeUndefined();
    expect(borrowedCount).toBeGreaterThan(SEEDS.count / 4);
    expect(lostLockCount).toBeGreaterThan(SEEDS.count / 2);
    for (const kind of KINDS) expect(outcomes.get(`${kind} done`) ?? 0, kind).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

describe('a loss is found where', () => {
  const LOSING = fixedRange(inFirstPart(20_000, 2000));
  // One of them in each run of the suite, which needs few schedules. The first part of a soak runs all, with those that
  // need many.
  test.each(inFirstPart(BROKEN_ORDERS, BROKEN_ORDERS.slice(0, 1)))(
    `%s ${LOSING.name}`,
    async (_, make) => {
      const { loss } = await runSchedules(LOSING, make(), { isOwnerBusy: inFirstPart(true, false) });
      expect(loss).toMatch(/lost chunk .* of the owner|the last compaction of the owner failed/);
    },
    TIMEOUT_MS,
  );
});
