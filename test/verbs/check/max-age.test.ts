import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { decodeVerified, encodeVerified } from '../../../src/core/format/verified-record.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { CheckOptions, CheckResult } from '../../../src/verbs/check/check.ts';
import { verifiedKeyOf } from '../../../src/core/damage/verified-records.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { addRepositoryKey } from '../../../src/verbs/key/keys.ts';
import { filesIn, flip, spoil } from '../../support/damage.ts';
import { makeDamageStage } from '../../support/domains.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { makeGrouped } from '../../support/grouped-repository.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { isEncryptedRun, testPassword } from '../../support/test-password.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 2);
const dayOf = (day: number): number => START_MS + day * DAY_MS;

type Checked = CheckResult & { readonly notices: readonly Notice[] };

/** A check by another machine, on a day after the first one. */
async function checkOn(
  backend: OperationContext['backend'],
  day: number,
  options: Partial<CheckOptions> = {},
  changes: Partial<OperationContext> = {},
): Promise<Checked> {
  const notices: Notice[] = [];
  const context = {
    ...simulatedProcess(backend),
    onNotice: (notice: Notice): void => void notices.push(notice),
    ...changes,
  };
  const result = await check(context, { maxAgeMs: 30 * DAY_MS, now: () => dayOf(day), ...options });
  return { ...result, notices };
}

async function backUpNew(context: OperationContext, seed: number): Promise<void> {
  const source = memoryDirectory();
  writeFileSync(join(source, 'file'), createPrng(seed).bytes(10_000));
  await backup(context, { sources: [source], cwd: source });
}

function recordsIn(backend: MemoryBackend): string[] {
  return filesIn(backend, 'verified');
}

test('machines share what was verified, and together verify everything within the age', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  expect(await checkOn(backend, 0)).toMatchObject({ packsRead: all, left: { packs: 0, bytes: 0, isRecorded: true } });
  expect(await checkOn(backend, 1)).toMatchObject({ packsRead: 0, packsChecked: all, left: { packs: 0 } });
  await backUpNew(simulatedProcess(backend), 1);
  const added = filesIn(backend, 'packs').length - all;
  expect(added).toBeGreaterThan(0);
  expect(await checkOn(backend, 20)).toMatchObject({ packsRead: added, left: { packs: 0 } });
  expect(await checkOn(backend, 30)).toMatchObject({ packsRead: 0, left: { packs: 0 } });
  expect(await checkOn(backend, 31)).toMatchObject({ packsRead: all, left: { packs: 0 } });
  expect(await checkOn(backend, 31, { maxAgeMs: 0 })).toMatchObject({ packsRead: added });
  expect(recordsIn(backend)).toHaveLength(1);
});

test('a limit leaves the packs that were verified last', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  const limit = { readData: { bytes: 1 } };
  for (let day = 0; day < all; day += 1) {
    expect(await checkOn(backend, day, limit)).toMatchObject({ packsRead: 1, left: { packs: all - day - 1 } });
  }
  expect((await checkOn(backend, all, limit)).packsRead).toBe(0);
  // The first, so that only the second expires by day 32.
  expect(await checkOn(backend, all, { ...limit, maxAgeMs: 0 })).toMatchObject({ packsRead: 1 });
  expect(await checkOn(backend, 31, { maxAgeMs: 30.5 * DAY_MS })).toMatchObject({ packsRead: 0, left: { packs: 0 } });
  expect(await checkOn(backend, 32, { maxAgeMs: 30.5 * DAY_MS })).toMatchObject({ packsRead: 1, left: { packs: 0 } });
});

test('a check that is killed keeps what it has recorded in steps', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  const isRecord = (operation: string, name: string): boolean => operation === 'rename' && name.includes('verified/');
  const dying = new FaultyBackend(backend, { mode: 'crash', failAt: 3, only: isRecord });
  await expect(checkOn(dying, 0, { recordEveryBytes: 1 })).rejects.toThrow('simulated crash');
  const recordCount = recordsIn(backend).length;
  expect(recordCount).toBeGreaterThan(1);
  const resumed = await checkOn(backend, 1);
  expect(resumed.left?.packs).toBe(0);
  expect(resumed.packsRead).toBeGreaterThan(0);
  // Two packs are verified at a time, so a step may have both.
  expect(resumed.packsRead).toBeLessThanOrEqual(all - recordCount);
  expect(recordsIn(backend)).toHaveLength(1);
});

test('a check that is aborted records what it has verified', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  const controller = new AbortController();
  const onStatus = new FaultyBackend(backend);
  const guard = onStatus.guard.bind(onStatus);
  const read = new Set<string>();
  onStatus.guard = async (operation, name, action) => {
    if (name.startsWith('packs/') && read.add(name).size > 3) controller.abort();
    return await guard(operation, name, action);
  };
  await expect(checkOn(onStatus, 0, {}, { signal: controller.signal })).rejects.toThrow('cancelled');
  expect(recordsIn(backend)).toHaveLength(1);
  const resumed = await checkOn(backend, 1);
  expect(resumed.packsRead).toBeGreaterThan(0);
  expect(resumed.packsRead).toBeLessThan(all);
});

test('a damaged record is ignored with a warning, and replaced', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  await checkOn(backend, 0);
  const [record] = recordsIn(backend);
  backend.poke(record!, backend.peek(record!)!.subarray(0, -3));
  const again = await checkOn(backend, 1);
  expect(again).toMatchObject({ findings: [], packsRead: all, left: { packs: 0, isRecorded: true } });
  expect(again.notices).toMatchObject([{ kind: 'verified-record-damaged', name: record }]);
  expect(recordsIn(backend)).toHaveLength(1);
  expect(recordsIn(backend)).not.toContain(record);
  expect(await checkOn(backend, 2)).toMatchObject({ packsRead: 0, notices: [] });
});

test('what is dated later than now counts as not verified, then and later', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  await checkOn(backend, 100);
  expect(await checkOn(backend, 1)).toMatchObject({ packsRead: all, left: { packs: 0 } });
  expect(await checkOn(backend, 2)).toMatchObject({ packsRead: 0 });
  expect(await checkOn(backend, 100)).toMatchObject({ packsRead: all });
});

test('a pack that is damaged is never recorded, and verified again each time', async () => {
  const stage = await makeDamageStage();
  await checkOn(stage.backend, 0);
  const pack = filesIn(stage.backend, 'packs')[0]!;
  const disk = await spoil(stage, flip(stage.backend, pack, 300));
  // It was verified by then; and once it is known to be damaged, that does not count any more.
  expect(await checkOn(disk, 1)).toMatchObject({ packsRead: 0 });
  expect(await checkOn(disk, 2, { maxAgeMs: DAY_MS })).toMatchObject({ left: { packs: 1 } });
  for (const day of [3, 4]) {
    const { findings, packsRead, left } = await checkOn(disk, day);
    expect([findings.length > 0, packsRead, left?.packs]).toEqual([true, 1, 1]);
  }
});

test('packs that a compaction has removed leave the record, and new ones are verified', async () => {
  const stage = await makeDamageStage();
  const { backend } = stage;
  await checkOn(backend, 0);
  const old = filesIn(backend, 'packs');
  await deleteSnapshots(simulatedProcess(backend), { selectors: [stage.snapshotIds[1]!], reclaim: false });
  await compact(simulatedProcess(backend), { maxUnusedPercent: 0 });
  const fresh = filesIn(backend, 'packs').filter((name) => !old.includes(name));
  expect(fresh.length).toBeGreaterThan(0);
  expect(await checkOn(backend, 1)).toMatchObject({ packsRead: fresh.length, left: { packs: 0 } });
  const [record, ...others] = recordsIn(backend);
  expect(others).toEqual([]);
  if (!isEncryptedRun) expect(decodeVerified(backend.peek(record!)!).size).toBe(filesIn(backend, 'packs').length);
});

test('what cannot be recorded is said once, and is no error', async () => {
  const { backend } = await makeDamageStage();
  const all = filesIn(backend, 'packs').length;
  const only = (operation: string): boolean => operation === 'create';
  const readOnly = new FaultyBackend(backend, { failAt: 1, mode: 'error', errno: 'EROFS', repeat: true, only });
  const { notices, ...checked } = await checkOn(readOnly, 0, { recordEveryBytes: 1 });
  expect(checked).toMatchObject({ findings: [], packsRead: all, left: { packs: 0, isRecorded: false } });
  expect(notices.map(({ kind }) => kind)).toEqual(['read-without-lock', 'verification-not-recorded']);
  expect(recordsIn(backend)).toEqual([]);
});

test('a copy of a pack that could not be reached is verified when it can be', async () => {
  const grouped = await makeGrouped(['a', 'b'], { copies: 2 });
  writeFileSync(join(grouped.source, 'file'), createPrng(1).bytes(40_000));
  await grouped.backup();
  const run = async (day: number): Promise<CheckResult> =>
    check(grouped.context, { maxAgeMs: 30 * DAY_MS, now: () => dayOf(day) });
  grouped.unmount('b');
  const alone = await run(0);
  expect(alone.packsRead).toBeGreaterThan(0);
  grouped.mount('b');
  const both = await run(1);
  expect(both.packsRead).toBeGreaterThan(0);
  grouped.unmount('a');
  expect((await run(2)).packsRead).toBe(0);
  grouped.mount('a');
  expect(await run(3)).toMatchObject({ packsRead: 0, left: { packs: 0 } });
});

const owner = testPassword('of the owner');

async function encrypted(seed: number): Promise<{ backend: MemoryBackend; context: OperationContext }> {
  const backend = new MemoryBackend();
  const context = { ...simulatedProcess(backend), password: owner };
  await initRepository(context, { capacity: 64 });
  await backUpNew(context, seed);
  return { backend, context };
}

test('in an encrypted repository only a record that was made there counts, and a role of read makes none', async () => {
  const [mine, other] = [await encrypted(1), await encrypted(2)];
  await checkOn(other.backend, 0, {}, { password: owner });
  const [foreign] = recordsIn(other.backend);
  mine.backend.pokeDirectory('verified');
  mine.backend.poke(foreign!, other.backend.peek(foreign!)!);
  const keys = filesIn(mine.backend, 'packs').map(verifiedKeyOf);
  mine.backend.poke(`verified/${'1'.repeat(32)}`, encodeVerified(new Map(keys.map((key) => [key, dayOf(-1)]))));
  const reader = testPassword('of a reader');
  await addRepositoryKey(mine.context, { newPassword: reader, role: 'read' });
  const read = await checkOn(mine.backend, 0, {}, { password: reader });
  expect(read).toMatchObject({ packsRead: read.packsChecked, left: { packs: 0, isRecorded: false } });
  expect(read.notices.map(({ kind }) => kind)).toEqual([
    'verified-record-damaged',
    'verified-record-damaged',
    'verification-not-recorded',
  ]);
  expect(recordsIn(mine.backend)).toHaveLength(2);
  const full = await checkOn(mine.backend, 0, {}, { password: owner });
  expect(full).toMatchObject({ packsRead: full.packsChecked, left: { packs: 0, isRecorded: true } });
  expect(recordsIn(mine.backend)).toHaveLength(1);
});
