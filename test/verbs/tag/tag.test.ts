import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import { RefusedError, SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots, tagSnapshots, unpinSnapshots } from '../../../src/verbs/tag/tag.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeTwo(): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (const [name, tag] of [
    ['a', 'x'],
    ['b', 'y'],
  ] as const) {
    writeFileSync(join(repository.source, name), name);
    ids.push((await repository.backup({ tags: [tag], comment: `with ${name}` })).snapshotId!);
  }
  return { repository, ids };
}

describe('a changed snapshot', () => {
  it('has a new id, and everything else stays', async () => {
    const { repository, ids } = await makeTwo();
    const { context } = repository;
    const before = await listSnapshots(context);
    const { changed, unchangedCount } = await tagSnapshots(context, { selectors: ['latest'], add: ['z'] });
    expect(unchangedCount).toBe(0);
    expect(changed.map(({ old }) => old.id)).toEqual([ids[1]]);
    const [first, second] = await listSnapshots(context);
    expect(first).toEqual(before[0]);
    expect(second!.id).toBe(changed[0]!.new.id);
    const { nonce, ...members } = before[1]!.snapshot;
    expect(second!.snapshot).toEqual({
      ...members,
      nonce: second!.snapshot.nonce,
      tags: ['y', 'z'],
      original: ids[1],
      replaces: ids[1],
    });
    expect(second!.snapshot.nonce).not.toBe(nonce);
    await repository.expectRestored();
    await repository.expectClean();
    // What it has replaced is no deleted snapshot, and takes no space for long.
    expect(await listSnapshots(context, { deleted: true })).toEqual([]);
    await compact(context);
    await repository.expectRestored();
    await repository.expectClean();
  });

  it('keeps the id with which it was made, however often it is changed', async () => {
    const { repository, ids } = await makeTwo();
    const { context } = repository;
    await tagSnapshots(context, { selectors: ['latest'], set: ['one', 'two'] });
    await tagSnapshots(context, { selectors: ['latest'], add: ['three'], remove: ['one', 'absent'] });
    const { changed } = await pinSnapshots(context, { selectors: ['latest'] });
    expect(changed[0]!.new.snapshot).toMatchObject({ original: ids[1], tags: ['two', 'three'], pinned: true });
    expect(await listSnapshots(context, { deleted: true })).toEqual([]);
  });

  it('is one that changes: the others keep their id', async () => {
    const { repository, ids } = await makeTwo();
    const filter = { tags: [['x'], ['y']] };
    const { changed, unchangedCount } = await tagSnapshots(repository.context, { selectors: [], filter, add: ['x'] });
    expect([changed.map(({ old }) => old.id), unchangedCount]).toEqual([[ids[1]], 1]);
    await expect(tagSnapshots(repository.context, { selectors: [], filter, set: ['x'] })).resolves.toMatchObject({
      unchangedCount: 1,
    });
  });

  it('is copied without what is of the repository only, and not twice', async () => {
    const { repository, ids } = await makeTwo();
    await pinSnapshots(repository.context, { selectors: [ids[0]!], until: '2100-01-01T00:00:00Z' });
    const { context: destination } = await makeTestRepository();
    await copySnapshots(repository.context, { destination });
    const [copied] = await listSnapshots(destination);
    expect(copied!.snapshot).toMatchObject({ original: ids[0], keepUntil: '2100-01-01T00:00:00.000Z', tags: ['x'] });
    expect(copied!.snapshot.replaces).toBeUndefined();
    await copySnapshots(repository.context, { destination });
    expect(await listSnapshots(destination)).toHaveLength(2);
  });
});

describe('a pinned snapshot', () => {
  it('is not deleted until it is unpinned', async () => {
    const { repository } = await makeTwo();
    const { context } = repository;
    await pinSnapshots(context, { selectors: ['latest'] });
    for (const dryRun of [true, false]) {
      const deleting = deleteSnapshots(context, { selectors: ['latest', 'latest~1'], dryRun });
      await expect(deleting).rejects.toThrow(/^snapshot .* is pinned and cannot be deleted$/);
      await expect(deleting).rejects.toThrow(RefusedError);
    }
    expect(await listSnapshots(context)).toHaveLength(2);
    await unpinSnapshots(context, { selectors: ['latest'] });
    await deleteSnapshots(context, { selectors: ['latest'] });
    expect(await listSnapshots(context)).toHaveLength(1);
  });

  it.each([
    [3_600_000, 2],
    [-60_000, 1],
  ])('may be kept only until a time, %i ms from now', async (aheadMs, leftCount) => {
    const { repository } = await makeTwo();
    const until = new Date(Date.now() + aheadMs).toISOString();
    await pinSnapshots(repository.context, { selectors: ['latest'], until });
    await deleteSnapshots(repository.context, { selectors: ['latest'] }).catch((error: unknown) => {
      expect(String(error)).toContain('kept until');
    });
    expect(await listSnapshots(repository.context)).toHaveLength(leftCount);
  });

  it('is not pinned twice', async () => {
    const { repository } = await makeTwo();
    await pinSnapshots(repository.context, { selectors: ['latest'] });
    await expect(pinSnapshots(repository.context, { selectors: ['latest'] })).resolves.toMatchObject({ changed: [] });
  });
});

test('a mistake changes nothing', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  await expect(tagSnapshots(context, { selectors: [], add: ['z'] })).rejects.toThrow(UsageError);
  await expect(tagSnapshots(context, { selectors: ['latest'] })).rejects.toThrow(UsageError);
  await expect(tagSnapshots(context, { selectors: ['latest'], set: ['a'], add: ['b'] })).rejects.toThrow(UsageError);
  const nosuch = { selectors: [], filter: { hosts: ['nosuch'] }, add: ['z'] };
  await expect(tagSnapshots(context, nosuch)).rejects.toThrow(SnapshotNotFoundError);
  expect((await listSnapshots(context)).map(({ id }) => id)).toEqual(ids);
});
