import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ObjectBackend } from '../../src/places/objects/object-backend.ts';
import type { PutOptions } from '../../src/places/objects/object-store.ts';
import { RESERVE_NAME } from '../../src/core/format/layout.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../src/verbs/forget/forget.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { MemoryStore, failure } from '../support/memory-store.ts';
import { createPrng } from '../support/prng.ts';
import { optionsOfTests } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** A bucket with a quota, as Ceph and MinIO have it: what would exceed it is refused, be it a lock of 16 bytes. */
class BucketWithQuota extends MemoryStore {
  quotaBytes = Infinity;

  get usedBytes(): number {
    return [...this.objects.values()].reduce((total, { length }) => total + length, 0);
  }

  override async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    const oldBytes = this.objects.get(key)?.length ?? 0;
    if (this.usedBytes - oldBytes + bytes.length > this.quotaBytes) throw failure('full');
    await super.put(key, bytes, options);
  }
}

interface Stage {
  readonly store: BucketWithQuota;
  readonly source: string;
  readonly directory: string;
  readonly context: OperationContext;
  readonly notices: Notice[];
}

/** A bucket with two snapshots, in which there is no room for a single byte more. */
async function setFullStage(): Promise<Stage> {
  const store = new BucketWithQuota();
  const directory = memoryDirectory();
  const notices: Notice[] = [];
  const backend = new ObjectBackend('s3:test', store, { retryForMs: 0 });
  const onNotice = (notice: Notice): void => void notices.push(notice);
  const context = { ...optionsOfTests(), backend, onNotice };
  await initRepository(context, { capacity: 256 });
  const source = join(directory, 'source');
  for (let version = 0; version < 2; version += 1) {
    rmSync(source, { recursive: true, force: true });
    writeFileSync(source, createPrng(version).bytes(100_000));
    await backup(context, { sources: [source], cwd: directory });
  }
  store.quotaBytes = store.usedBytes;
  return { store, source, directory, context, notices };
}

test('a full bucket can be read, and a notice says that no lock was taken', async () => {
  const { store, source, directory, context, notices } = await setFullStage();
  const target = join(directory, 'target');
  expect((await restore(context, { selector: 'latest', target })).problems).toEqual([]);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  expect((await check(context, { readData: true })).findings).toEqual([]);
  expect(await listSnapshots(context)).toHaveLength(2);
  const unlocked = notices.filter(({ kind }) => kind === 'read-without-lock');
  expect(unlocked).toContainEqual({ kind: 'read-without-lock', reason: expect.stringContaining('full') as string });
  // What only reads does not use up the reserve, and neither does a backup.
  await expect(backup(context, { sources: [source], cwd: directory })).rejects.toMatchObject({ kind: 'full' });
  expect(store.objects.has(RESERVE_NAME)).toBe(true);
});

const REMOVALS: Readonly<Record<string, (context: OperationContext) => Promise<unknown>>> = {
  delete: async (context) => deleteSnapshots(context, { selectors: ['latest~1'] }),
  forget: async (context) => forgetByPolicy(context, { policy: { counts: { last: 1 } } }),
  'delete and compact': async (context) => {
    await deleteSnapshots(context, { selectors: ['latest~1'], reclaim: false });
    await compact(context, { maxUnusedPercent: 0 });
  },
};

test.each(Object.keys(REMOVALS))('%s makes room in a full bucket, and puts the reserve back', async (name) => {
  const { store, context, notices } = await setFullStage();
  await REMOVALS[name]!(context);
  expect(store.usedBytes).toBeLessThan(store.quotaBytes - 50_000);
  expect(store.objects.has(RESERVE_NAME)).toBe(true);
  expect(await listSnapshots(context)).toHaveLength(1);
  expect((await check(context, { readData: true })).findings).toEqual([]);
  expect(notices.filter(({ kind }) => kind === 'lock-not-released')).toEqual([]);
});
