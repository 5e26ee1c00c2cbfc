import { describe, expect, it } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import type { PutOptions } from '../../../src/places/objects/object-store.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { addGroup, setGroupPlace } from '../../../src/verbs/group/groups.ts';
import { makeBucketStage, packsIn } from '../../support/bucket-stage.ts';
import { memoryBucket } from '../../support/buckets.ts';
import type { Bucket } from '../../support/buckets.ts';
import { fill, makeGrouped, openPlaces } from '../../support/grouped-repository.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';

/** Ignores the conditions of requests, as some servers do. */
class LyingStore extends MemoryStore {
  override async put(key: string, bytes: Uint8Array, _options?: PutOptions): Promise<void> {
    await super.put(key, bytes);
  }
}

/** Reads other bytes than it is asked for. */
class WrongRangeStore extends MemoryStore {
  override async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    return await super.getRange(key, offset - 1, lengthBytes);
  }
}

describe('a server that is not good enough', () => {
  it.each([
    ['ignores conditions', () => new LyingStore(), /cannot be used by several clients/],
    ['reads other bytes', () => new WrongRangeStore(), /cannot be used for a repository: it reads other bytes/],
  ])('because it %s is refused for new groups and for those that are moved', async (_what, makeStore, message) => {
    const lying = memoryBucket(makeStore());
    await expect(makeGrouped(['a'], { buckets: { a: lying } })).rejects.toThrow(message);
    const stage = await makeBucketStage();
    const other: Bucket = { ...lying, place: 's3:https://memory.test/other' };
    const moved = { ...other, open: () => new ObjectBackend(other.place, lying.store, { retryForMs: 0 }) };
    const context = { ...stage.context, openPlace: openPlaces({ b: stage.bucket, other: moved }) };
    await expect(addGroup(context, { name: 'c', place: other.place })).rejects.toThrow(message);
    for (const [key, bytes] of stage.bucket.store.objects) lying.store.objects.set(key, bytes);
    await expect(setGroupPlace(context, 'b', other.place)).rejects.toThrow(message);
    await stage.expectClean();
  });

  it('because it ignores conditions can be used by a single writer', async () => {
    const buckets = { b: memoryBucket(new LyingStore()) };
    const repository = await makeGrouped(['a', 'b'], { buckets, singleWriter: true });
    fill(repository, 'one', 1);
    await repository.backup();
    expect(packsIn(buckets.b).length).toBeGreaterThan(0);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('tells those who add it that the repository must be created for it', async () => {
    const { context } = await makeGrouped(['a']);
    const lying = memoryBucket(new LyingStore());
    const added = addGroup({ ...context, openPlace: openPlaces({ b: lying }) }, { name: 'b', place: lying.place });
    await expect(added).rejects.toMatchObject({ advice: { code: 'use-single-writer-at-init' } });
  });
});

it('a group can be moved to another bucket with the same objects', async () => {
  const stage = await makeBucketStage();
  const other = memoryBucket();
  const place = 's3:https://memory.test/other';
  const moved = { ...other, place, open: () => new ObjectBackend(place, other.store, { retryForMs: 0 }) };
  const openPlace = openPlaces({ b: stage.bucket, moved });
  const context = { ...stage.context, openPlace };
  await expect(setGroupPlace(context, 'b', place)).rejects.toThrow(/the group b is not there/);
  for (const [key, bytes] of stage.bucket.store.objects) other.store.objects.set(key, bytes);
  // With keys that may only read, nothing can be tried.
  other.store.onRequest = (request) => {
    if (/^(put|remove)/.test(request)) throw failure('denied');
  };
  await setGroupPlace(context, 'b', place);
  stage.bucket.store.objects.clear();
  expect((await check(context, { readData: true })).findings).toEqual([]);
});
