import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { isCommitName, manifestCopyName, snapshotName } from '../../../src/core/format/layout.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const contextOf = (store: MemoryStore): OperationContext => ({ backend: storeBackend(store), ...optionsOfTests() });
const recordsIn = ({ objects }: MemoryStore): string[] => [...objects.keys()].filter((name) => isCommitName(name));

/** A repository where a snapshot is lost, with the copy of its manifest, and its commit record is damaged. */
async function lose(): Promise<{ readonly store: MemoryStore; readonly lost: string }> {
  const store = new MemoryStore();
  const directory = memoryDirectory();
  const backUp = async (text: string): Promise<string> => {
    writeFileSync(join(directory, 'file'), text.repeat(2000));
    return (await backup(contextOf(store), { sources: [directory], cwd: directory })).snapshotId!;
  };
  await initRepository(contextOf(store), { capacity: 256 });
  const first = await backUp('first');
  await backUp('second');
  await deleteSnapshots(contextOf(store), { selectors: [first], reclaim: false });
  await compact(contextOf(store), { maxUnusedPercent: 0 });
  const before = recordsIn(store);
  const lost = await backUp('third');
  for (const name of [snapshotName(lost), manifestCopyName(lost)]) expect(store.objects.delete(name)).toBe(true);
  const [record = ''] = recordsIn(store).filter((name) => !before.includes(name));
  store.objects.set(record, Buffer.from('damaged'));
  return { store, lost };
}

/** Repairs a copy of a store, and dies before the change of this number. Returns the copy, and whether it has died. */
async function repairUntil(from: MemoryStore, count: number): Promise<{ store: MemoryStore; hasDied: boolean }> {
  const store = new MemoryStore(new Map(from.objects));
  let left = count;
  let hasDied = false;
  store.onRequest = (request, isDone) => {
    const isChange = /^(put|replace|remove) (?!locks)/.test(request);
    if (isChange && !isDone && left-- === 0) hasDied = true;
    if (hasDied) throw new Error('died');
  };
  const outcome = await repair(contextOf(store)).catch((error: unknown) => error);
  store.onRequest = () => undefined;
  for (const name of store.objects.keys()) if (name.startsWith('locks/')) store.objects.delete(name);
  expect(outcome instanceof Error).toBe(hasDied);
  return { store, hasDied };
}

test('a snapshot that only a checkpoint has still looks lost after a repair that has died, until it is restored', async () => {
  const { store: damaged, lost } = await lose();
  for (let count = 0; ; count += 1) {
    const { store, hasDied } = await repairUntil(damaged, count);
    const isBack = store.objects.has(snapshotName(lost));
    const { findings } = await check(contextOf(store));
    const isReported = findings.some((finding) => finding.kind === 'snapshot-lost' && finding.snapshotId === lost);
    expect(isReported, `change ${count}`).toBe(!isBack);
    if (!hasDied) return expect([isBack, findings]).toEqual([true, []]);
    if (isBack) continue;
    await expect(compact(contextOf(store))).rejects.toMatchObject({ code: 'REFUSED' });
    await repair(contextOf(store));
    expect(store.objects.has(snapshotName(lost))).toBe(true);
    expect((await check(contextOf(store), { readData: true })).findings).toEqual([]);
  }
});
