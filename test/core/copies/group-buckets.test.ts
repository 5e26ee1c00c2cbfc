import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Client } from '../../../src/places/s3/s3-client.ts';
import { S3Connection } from '../../../src/places/s3/s3-connection.ts';
import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { LdmError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { drainGroup, removeGroup } from '../../../src/core/copies/group-moves.ts';
import { addGroup, listGroups, setGroupState } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { keepBucketStage, makeBucketStage, packsIn } from '../../support/bucket-stage.ts';
import type { BucketStage } from '../../support/bucket-stage.ts';
import { memoryBucket } from '../../support/buckets.ts';
import { fill, makeGrouped, openPlaces } from '../../support/grouped-repository.ts';
import { failure } from '../../support/memory-store.ts';
import { inSoak } from '../../support/soak.ts';

describe('a group in a bucket', () => {
  it('takes its share, gives it back, and can be left', async () => {
    const repository = await makeBucketStage();
    const { bucket, context } = repository;
    expect(packsIn(bucket).length).toBeGreaterThan(0);
    const { groups } = await listGroups(context);
    expect(groups.map(({ packCount }) => packCount)[1]).toBe(packsIn(bucket).length);
    await repository.expectClean();
    await repository.expectRestored();
    await drainGroup(context, 'b');
    expect(packsIn(bucket)).toEqual([]);
    await removeGroup(context, 'b');
    expect([...bucket.store.objects.keys()]).toEqual([]);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('is emptied by a delete, and its probe leaves nothing', async () => {
    const { bucket, context, expectClean } = await makeBucketStage();
    await deleteSnapshots(context, { selectors: ['latest'] });
    expect([...bucket.store.objects.keys()]).toEqual(['group-id']);
    await expectClean();
  });

  it('is emptied with several requests at once', async () => {
    const repository = await makeBucketStage();
    const { bucket, context } = repository;
    for (let number = 0; packsIn(bucket).length < 2; number += 1) {
      fill(repository, 'one', 10 + number);
      await repository.backup();
    }
    let release: () => void = () => undefined;
    const twoWait = new Promise<void>((resolve) => {
      release = resolve;
    });
    let waiting = 0;
    bucket.store.onRequest = async (request, isDone) => {
      if (isDone || !request.startsWith('remove packs/')) return;
      waiting += 1;
      if (waiting === 2) release();
      // One after the other, the first would wait for ever.
      await twoWait;
    };
    for (const { id } of await listSnapshots(context))
      await deleteSnapshots(context, { selectors: [id], reclaim: false });
    await compact(context, { maxUnusedPercent: 0 });
    expect(packsIn(bucket)).toEqual([]);
  });

  it('keeps damaged packs in its quarantine', async () => {
    const { bucket, context } = await makeBucketStage();
    const [name] = packsIn(bucket);
    bucket.store.objects.get(name!)!.fill(0);
    await repair(context);
    expect([...bucket.store.objects.keys()].filter((key) => key.startsWith('quarantine/'))).toHaveLength(1);
    expect(packsIn(bucket)).not.toContain(name);
  });

  it('is asked for each of many packs once, since a listing of them may be old', async () => {
    const repository = await makeBucketStage();
    const { bucket } = repository;
    for (let number = 0; packsIn(bucket).length < inSoak(100, 60); number += 1) {
      fill(repository, `more-${number}`, 50 + number, 500_000);
      await repository.backup();
    }
    const requestsOfBackup = async (): Promise<{ ofPacks: string[]; others: string[] }> => {
      bucket.store.requests.length = 0;
      await repository.backup();
      const isOfPack = (request: string): boolean => request.startsWith('head packs/');
      const { requests } = bucket.store;
      return { ofPacks: requests.filter(isOfPack), others: requests.filter((request) => !isOfPack(request)) };
    };
    const online = await requestsOfBackup();
    expect(new Set(online.ofPacks).size).toBe(online.ofPacks.length);
    expect(online.ofPacks.length).toBeGreaterThan(50);
    expect(online.others.length).toBeLessThan(20);
    // For those that may be in a group that is offline, too.
    repository.unmount('a');
    const offline = await requestsOfBackup();
    expect(new Set(offline.ofPacks).size).toBe(offline.ofPacks.length);
    expect(offline.others.length).toBeLessThan(40);
  });

  it('never gets more than its capacity, although several packs are under way', async () => {
    const bucket = memoryBucket();
    const repository = await makeGrouped(['a'], { buckets: { b: bucket } });
    const capacityBytes = 60_000;
    await addGroup(repository.context, { name: 'b', place: bucket.place, capacityBytes, weight: 100 });
    fill(repository, 'one', 1, 400_000);
    await repository.backup();
    const sizes = packsIn(bucket).map((name) => bucket.store.objects.get(name)!.length);
    expect(sizes.length).toBeGreaterThan(0);
    expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThanOrEqual(capacityBytes);
    await repository.expectClean();
  });
});

describe('a bucket that does not answer', () => {
  it('is offline: a backup goes on in the other groups, and everything is there when it is back', async () => {
    const repository = await makeBucketStage();
    const before = packsIn(repository.bucket);
    repository.unmount('b');
    fill(repository, 'two', 2);
    await repository.backup();
    expect(packsIn(repository.bucket)).toEqual(before);
    expect((await repository.restore()).problems.length).toBeGreaterThan(0);
    await expect(compact(repository.context)).rejects.toThrow(/the group b is offline/);
    repository.mount('b');
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('is reported once, also if it has answered at first', async () => {
    const repository = await makeBucketStage();
    const { bucket, notices } = repository;
    fill(repository, 'two', 2);
    let left = 6;
    bucket.store.onRequest = (_request, isDone) => {
      if (!isDone && (left -= 1) < 0) throw failure('transient', false);
    };
    await repository.backup().catch(() => undefined);
    expect(notices.filter(({ kind }) => kind === 'group-offline')).toEqual([
      expect.objectContaining({ name: 'b', at: bucket.place, reason: expect.stringContaining('made by the test') }),
    ]);
  });

  it('from any request on costs nothing that was reported as saved', async () => {
    const acts: Readonly<Record<string, (stage: BucketStage) => Promise<unknown>>> = {
      backup: async (stage) => stage.backup(),
      compaction: async ({ context }) => {
        await deleteSnapshots(context, { selectors: ['latest~1'] });
        await compact(context, { maxUnusedPercent: 0 });
      },
      drain: async ({ context }) => drainGroup(context, 'b'),
    };
    for (const [name, act] of Object.entries(acts)) {
      const makeStage = keepBucketStage(async () => {
        const made = await makeBucketStage();
        fill(made, 'two', 2, 100_000);
        if (name !== 'backup') await made.backup();
        return made;
      });
      let hasFired = true;
      for (let at = 0; hasFired; at += inSoak(7, 33)) {
        hasFired = false;
        const stage = await makeStage();
        const before = (await listSnapshots(stage.context)).map(({ id }) => id);
        let left = at;
        stage.bucket.store.onRequest = (_request, isDone) => {
          if (isDone || (left -= 1) >= 0) return;
          hasFired = true;
          throw failure('transient', false);
        };
        const error: unknown = await act(stage).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        stage.mount('b');
        if (error !== undefined) expect(error, `${name} at ${at}`).toBeInstanceOf(LdmError);
        const after = (await listSnapshots(stage.context)).map(({ id }) => id);
        if (name === 'backup') expect(after.length - before.length, `at ${at}`).toBe(error === undefined ? 1 : 0);
        expect((await check(stage.context, { readData: true })).findings, `${name} at ${at}`).toEqual([]);
        await setGroupState(stage.context, 'b', 'active');
        await stage.backup();
        await stage.expectRestored();
      }
    }
  });

  it('although it is connected counts as offline after a while', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const stage = await makeBucketStage();
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const silent = (): Backend => {
      const connection = new S3Connection({ silenceMs: 100 });
      const keys = new CredentialSource({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }, {}, false);
      const address = { endpoint, bucket: 'b', prefix: '', region: 'us-east-1', isPathStyle: true };
      return new ObjectBackend(stage.bucket.place, new S3Store(new S3Client(address, connection, keys), ''), {
        retryForMs: 60_000,
      });
    };
    const context = { ...stage.context, openPlace: openPlaces({ b: { ...stage.bucket, open: silent } }) };
    const { groups } = await listGroups(context);
    expect(groups.map(({ offlineReason }) => offlineReason)).toEqual([
      undefined,
      expect.stringContaining('the server has not answered in time'),
    ]);
  });
});
