import { cpSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { describeNotice } from '../../../src/console/reports/notice-text.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { RepositoryMemory } from '../../../src/core/session/memory.ts';
import { firstSight } from '../../../src/core/session/repository-memory.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { fill, makeGrouped } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, recover } from '../../support/metadata-in-groups.ts';
import { Scene, newMemory } from '../../support/mixed-days.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** Yesterday's small files beside today's packs. */
async function mixedDays(encryption: 'always' | 'never'): Promise<{ scene: Scene; today: string; ids: string[] }> {
  const scene = new Scene(encryption);
  const writer = newMemory();
  await initRepository(scene.context(writer), { encryption });
  const ids = [await scene.backUp(scene.context(writer)), await scene.backUp(scene.context(writer))];
  const yesterday = scene.keepSmallFiles();
  ids.push(await scene.backUp(scene.context(writer)));
  const today = scene.keepSmallFiles();
  scene.putSmallFiles(yesterday);
  return { scene, today, ids };
}

test.each(['never', 'always'] as const)(
  'packs of today beside the small files of yesterday survive every removal by a new machine (encryption: %s)',
  async (encryption) => {
    const { scene, today, ids } = await mixedDays(encryption);
    const all = scene.packs();
    const newMachine = scene.context(newMemory());
    expect(await listSnapshots(newMachine)).toHaveLength(2);
    expect((await repair(newMachine)).actions).toEqual([]);
    const promised = await compact(newMachine, { dryRun: true });
    const done = await compact(newMachine);
    const forgetful = await compact(scene.context(undefined));
    for (const { staying, packsRemoved } of [promised, done, forgetful]) {
      expect(packsRemoved).toBe(0);
      expect(Date.parse(staying!.until!) - Date.now()).toBeGreaterThan(6.9 * DAY_MS);
      expect(staying!.packBytes).toBeGreaterThan(0);
    }
    expect(scene.packs()).toEqual(all);
    const said = scene.notices.find(({ kind }) => kind === 'unindexed-packs-stay');
    expect(describeNotice(said!)).toMatch(/^2 packs \(.* stay until .* an older state .* --accept-older-state/);
    const { compaction } = await deleteSnapshots(newMachine, { selectors: [ids[0]!] });
    expect(compaction).toMatchObject({ staying: { packIds: done.staying!.packIds } });
    scene.putSmallFiles(today);
    const options = { selectors: ids.slice(1), readData: true } as const;
    expect((await check(scene.context(undefined), options)).findings).toEqual([]);
  },
);

test('what today shares with deleted snapshots of yesterday survives every removal by a new machine', async () => {
  const scene = new Scene('never');
  const writer = scene.context(newMemory());
  await initRepository(writer, { encryption: 'never' });
  const first = await scene.backUp(writer);
  scene.dropFile(1);
  const second = await scene.backUp(writer);
  await deleteSnapshots(writer, { selectors: [first], reclaim: false });
  const yesterday = scene.keepSmallFiles();
  scene.bringFile(1);
  const today = await scene.backUp(writer);
  const small = scene.keepSmallFiles();
  scene.putSmallFiles(yesterday);
  const all = scene.packs();
  const newMachine = scene.context(newMemory());
  const promised = await compact(newMachine, { dryRun: true });
  const done = await compact(newMachine);
  for (const { packsRemoved, deadBytesRemaining } of [promised, done]) {
    expect(packsRemoved).toBe(0);
    expect(deadBytesRemaining).toBeGreaterThan(0);
  }
  await deleteSnapshots(newMachine, { selectors: [second] });
  expect(scene.packs()).toEqual(all);
  scene.putSmallFiles(small);
  expect((await check(scene.context(undefined), { selectors: [today], readData: true })).findings).toEqual([]);
});

test('copies of metadata in groups keep a newer snapshot that an older state of the place lacks', async () => {
  const grouped = await makeGrouped(['a', 'b'], { copies: 2 });
  fill(grouped, 'one', 1);
  await grouped.backup();
  const yesterday = memoryDirectory();
  cpSync(ownPlace(grouped), yesterday, { recursive: true, preserveTimestamps: true });
  fill(grouped, 'two', 2);
  const { snapshotId } = await grouped.backup();
  rmSync(ownPlace(grouped), { recursive: true });
  cpSync(yesterday, ownPlace(grouped), { recursive: true, preserveTimestamps: true });
  expect((await compact(grouped.context)).staying).toBeDefined();
  expect(copiesIn(grouped, 'a', 'snapshots')).toContain(snapshotId);
  await recover(grouped, 'a');
  expect((await check(grouped.context, { selectors: [snapshotId!], readData: true })).findings).toEqual([]);
});

test('packs of today go if somebody accepts the older state', async () => {
  const { scene } = await mixedDays('never');
  const context = scene.context(newMemory());
  const { staying, packsRemoved } = await compact({ ...context, acceptsOlderState: true });
  expect({ staying, packsRemoved }).toEqual({ staying: undefined, packsRemoved: 2 });
});

test('what a backup of this machine has left goes at once, and a delete accounts for every byte', async () => {
  const scene = new Scene('always');
  const memory = newMemory();
  await initRepository(scene.context(memory), { encryption: 'always' });
  await scene.backUp(scene.context(memory));
  const second = await scene.backUp(scene.context(memory));
  const left = await scene.leavePacks(memory);
  expect(left.length).toBeGreaterThan(0);
  const { compaction } = await deleteSnapshots(scene.context(memory), { selectors: [second] });
  expect(compaction!.staying).toBeUndefined();
  expect(scene.packs().filter((pack) => left.includes(pack))).toEqual([]);
  expect(scene.notices.filter(({ kind }) => kind === 'unindexed-packs-stay')).toEqual([]);
});

const ago = (ms: number): number => -ms;

/** A place whose clock shows another time. */
class SkewedBackend extends LocalBackend {
  readonly #aheadMs: number;

  constructor(location: string, aheadMs: number) {
    super(location);
    this.#aheadMs = aheadMs;
  }

  override clockAheadMs(): number {
    return this.#aheadMs;
  }
}

/**
 * Times from now on. `firstSeen`: when this machine first saw the repository. `aheadMs`: of the clock of the place, by which
 * the pack was `written`. `until`: if the pack stays.
 */
const TIMES: {
  firstSeen?: number | 'always' | 'no memory';
  written: number | 'unknown';
  aheadMs?: number;
  stays: boolean;
  until?: number;
}[] = [
  { written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { written: ago(6 * DAY_MS), stays: true, until: DAY_MS },
  { written: ago(8 * DAY_MS), stays: false },
  { written: HOUR_MS, stays: true, until: 7 * DAY_MS },
  { written: 'unknown', stays: true, until: 7 * DAY_MS },
  { firstSeen: 'no memory', written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 'no memory', written: ago(8 * DAY_MS), stays: false },
  { firstSeen: 'no memory', written: HOUR_MS, stays: true },
  { firstSeen: 'no memory', written: 'unknown', stays: true },
  { firstSeen: ago(HOUR_MS), written: ago(2 * HOUR_MS), stays: true, until: 7 * DAY_MS - 2 * HOUR_MS },
  { firstSeen: ago(2 * HOUR_MS), written: ago(HOUR_MS), stays: false },
  { firstSeen: ago(HOUR_MS), written: HOUR_MS, stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: ago(HOUR_MS), written: 'unknown', stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: ago(8 * DAY_MS), written: 'unknown', stays: false },
  { firstSeen: ago(HOUR_MS), written: ago(HOUR_MS / 2), aheadMs: HOUR_MS, stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 'no memory', written: ago(8 * DAY_MS), aheadMs: ago(3 * DAY_MS), stays: true, until: 2 * DAY_MS },
  // A clock that was wrong when the machine first saw it.
  { firstSeen: 300 * DAY_MS, written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 300 * DAY_MS, written: 'unknown', stays: true, until: 7 * DAY_MS },
  // An earlier build has remembered it.
  { firstSeen: 'always', written: ago(HOUR_MS), stays: false },
  { firstSeen: 'always', written: 'unknown', stays: false },
];

test('whether a pack that nothing names stays depends on when it was written and first could be seen', async () => {
  const scene = new Scene('never');
  await initRepository(scene.context(undefined), { encryption: 'never' });
  const plain = scene.context(undefined);
  const place = plain.backend.location;
  await scene.backUp(plain);
  const [pack] = await scene.leavePacks(undefined);
  const nowMs = Date.now();
  const id = await idOf(plain);
  for (const { firstSeen, written, aheadMs = 0, stays, until } of TIMES) {
    const memory = newMemory();
    const seen = typeof firstSeen === 'number' ? new Date(nowMs + firstSeen).toISOString() : undefined;
    if (firstSeen !== undefined) memory.update(place, id, () => ({ ...firstSight(), firstSeen: seen }));
    for (const name of scene.packs()) {
      const time = written === 'unknown' ? new Date(0) : new Date(nowMs + written);
      utimesSync(join(scene.repository, 'packs', name), time, time);
    }
    const backend = new SkewedBackend(scene.repository, aheadMs);
    const context = { ...plain, backend, memory: firstSeen === 'no memory' ? undefined : memory };
    const { staying } = await compact(context, { dryRun: true });
    const given = { firstSeen, written, aheadMs };
    expect({ ...given, stays: staying?.packIds.has(pack!.slice(3)) === true }).toEqual({ ...given, stays });
    if (!stays) continue;
    const endMs = staying!.until === undefined ? undefined : Date.parse(staying!.until) - nowMs;
    expect({ ...given, until: endMs && Math.round(endMs / HOUR_MS) * HOUR_MS }).toEqual({ ...given, until });
  }
});

/** The name under which a plain repository is remembered. */
async function idOf(context: OperationContext): Promise<string> {
  const memory = newMemory();
  const names: string[] = [];
  const noting: RepositoryMemory = {
    tracesOfPlace: (place) => memory.tracesOfPlace(place),
    tracesOfId: (id) => memory.tracesOfId(id),
    recall: (place, id) => memory.recall(place, id),
    update: (place, id, change) => {
      names.push(id);
      memory.update(place, id, change);
    },
    forgetPlace: (place) => memory.forgetPlace(place),
  };
  await listSnapshots({ ...context, memory: noting });
  return names[0]!;
}
