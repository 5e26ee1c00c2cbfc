import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { StoredMemory } from '../../../src/console/repository-memory.ts';
import { describeNotice } from '../../../src/console/reports/notice-text.ts';
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
import { Scene, newMemory, rememberedIdOf } from '../../support/mixed-days.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const DAY_MS = 24 * 60 * 60_000;

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

/** Has a machine know the repository for more than a week. Returns the name under which it is remembered. */
async function knowForLong(context: OperationContext, memory: RepositoryMemory): Promise<string> {
  const id = await rememberedIdOf(context);
  const since = new Date(Date.now() - 8 * DAY_MS).toISOString();
  memory.update(context.backend.location, id, (seen = firstSight()) => ({ ...seen, firstSeen: since }));
  return id;
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

test('copies of metadata in groups keep a newer snapshot without a commit record that an older state of the place lacks', async () => {
  const grouped = await makeGrouped(['a', 'b'], { copies: 2 });
  fill(grouped, 'one', 1);
  await grouped.backup();
  const yesterday = memoryDirectory();
  cpSync(ownPlace(grouped), yesterday, { recursive: true, preserveTimestamps: true });
  fill(grouped, 'two', 2);
  const { snapshotId } = await grouped.backup();
  // An earlier build writes none.
  for (const name of ['a', 'b'])
    for (const file of copiesIn(grouped, name, 'index').filter((each) => each.startsWith('commit')))
      rmSync(join(grouped.place(name), 'metadata/index', file));
  rmSync(ownPlace(grouped), { recursive: true });
  cpSync(yesterday, ownPlace(grouped), { recursive: true, preserveTimestamps: true });
  expect((await compact(grouped.context)).staying).toBeDefined();
  expect(copiesIn(grouped, 'a', 'snapshots')).toContain(snapshotId);
  await recover(grouped, 'a');
  expect((await check(grouped.context, { selectors: [snapshotId!], readData: true })).findings).toEqual([]);
});

test('what another machine wrote since this one last saw the repository stays, too', async () => {
  const scene = new Scene('always');
  const [writer, other] = [newMemory(), newMemory()];
  await initRepository(scene.context(writer), { encryption: 'always' });
  const first = await scene.backUp(scene.context(writer));
  const yesterday = scene.keepSmallFiles();
  expect(await listSnapshots(scene.context(other))).toHaveLength(1);
  const today = await scene.backUp(scene.context(writer));
  const small = scene.keepSmallFiles();
  scene.putSmallFiles(yesterday);
  expect(await compact(scene.context(other))).toMatchObject({ packsRemoved: 0, staying: { isAllKept: true } });
  await deleteSnapshots(scene.context(other), { selectors: [first] });
  scene.putSmallFiles(small);
  const options = { selectors: [today], readData: true } as const;
  expect((await check(scene.context(undefined), options)).findings).toEqual([]);
});

test('what an interrupted backup of another machine has left ends no reclaiming where the repository is well known', async () => {
  const scene = new Scene('never');
  const memory = newMemory();
  const context = scene.context(memory);
  await initRepository(context, { encryption: 'never' });
  const first = await scene.backUp(context);
  const id = await knowForLong(context, memory);
  const others = await scene.leavePacks(newMemory());
  const own = await scene.leavePacks(memory);
  const { compaction } = await deleteSnapshots(context, { selectors: [first] });
  expect(compaction!.staying).toMatchObject({
    isAllKept: false,
    packIds: new Set(others.map((name) => name.slice(3))),
  });
  expect(compaction!.packsRemoved).toBeGreaterThan(own.length);
  expect(scene.packs()).toEqual(others.toSorted());
  expect([...memory.writtenPacks(context.backend.location, id)]).toEqual([]);
});

test.each(['index/', 'snapshots/', 'index/commit', 'manifests.bak/'])(
  'what a backup of this machine has left stays from %s on: others may rely on it',
  async (directory) => {
    const scene = new Scene('never');
    const [memory, other] = [newMemory(), newMemory()];
    await initRepository(scene.context(memory), { encryption: 'never' });
    await scene.backUp(scene.context(memory));
    await knowForLong(scene.context(memory), memory);
    const yesterday = scene.keepSmallFiles();
    const left = await scene.leavePacks(memory, `-> ${directory}`);
    expect(left.length).toBeGreaterThan(0);
    const today = await scene.backUp(scene.context(other));
    const small = scene.keepSmallFiles();
    scene.putSmallFiles(yesterday);
    expect(await compact(scene.context(memory))).toMatchObject({ packsRemoved: 0, staying: { isAllKept: false } });
    expect(scene.packs()).toEqual(expect.arrayContaining(left));
    scene.putSmallFiles(small);
    const options = { selectors: [today], readData: true } as const;
    expect((await check(scene.context(undefined), options)).findings).toEqual([]);
  },
);

test.each(['removed', 'damaged'])('packs of this machine stay, too, if what it has seen is %s', async (how) => {
  const scene = new Scene('never');
  const directory = memoryDirectory();
  const memory = new StoredMemory(directory, { warn: () => undefined, note: () => undefined });
  await initRepository(scene.context(memory), { encryption: 'never' });
  await scene.backUp(scene.context(memory));
  const yesterday = scene.keepSmallFiles();
  await scene.backUp(scene.context(memory));
  const all = scene.packs();
  const seen = readdirSync(directory).filter((name) => name.endsWith('.json'));
  expect(seen).toHaveLength(1);
  if (how === 'removed') rmSync(join(directory, seen[0]!));
  else writeFileSync(join(directory, seen[0]!), '{');
  scene.putSmallFiles(yesterday);
  expect(await compact(scene.context(memory))).toMatchObject({ packsRemoved: 0, staying: { isAllKept: true } });
  expect(scene.packs()).toEqual(all);
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
