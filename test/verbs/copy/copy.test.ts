import { appendFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { SnapshotNotFoundError, UsageError } from '../../../src/core/errors.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots, tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import { DESTINATIONS, makeCopyPair } from '../../support/copy-pair.ts';
import { CountingBackend } from '../../support/counting-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { filesOf, letSettle } from '../../support/test-repository.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import { inSoak } from '../../support/soak.ts';

/** In the suite, some of the destinations: each test has one with the same ids, with other ids, and with other chunks. */
function some(...names: readonly string[]): (readonly [string, InitOptions | 'same ids'])[] {
  return [...DESTINATIONS].filter(([name]) => inSoak(true, names.includes(name)));
}

const [SAME, OTHER, HASH, LARGER, SMALLER, FIXED] = [...DESTINATIONS.keys()] as [
  string,
  string,
  string,
  string,
  string,
  string,
];

describe.each(some(SAME, HASH, SMALLER, FIXED))('a copy to a repository %s', (_, other) => {
  test('has all snapshots, with the same files, and all that is known of them', async () => {
    const { source, destination, copy, expectCopied } = await makeCopyPair(other);
    makeRandomTree(join(source.source, 'tree'), { seed: 1, fileCount: 25, fileSizeBytesMax: inSoak(200_000, 60_000) });
    await source.backup({ tags: ['first', 'tag'], time: '2020-01-02T03:04:05Z', hostname: 'elsewhere' });
    const large = createPrng(2).bytes(150_000);
    writeFileSync(join(source.source, 'large'), large);
    await source.backup();
    writeFileSync(join(source.source, 'large'), Buffer.concat([large.subarray(0, 70_000), large.subarray(70_100)]));
    appendFileSync(join(source.source, 'tree', 'file-20'), 'more');
    await source.backup();
    const { snapshots, problems } = await copy();
    expect(problems).toEqual([]);
    expect(snapshots.map(({ added }) => added!.bytes > 0)).toEqual([true, true, true]);
    const before = await listSnapshots(source.context);
    const after = await listSnapshots(destination.context);
    for (const [index, { id, snapshot }] of before.entries()) {
      const copied = after[index]!;
      const { nonce, tree } = copied.snapshot;
      const { parent, ...rest } = snapshot;
      const ofCopy = parent && { parent: after[before.findIndex((each) => each.id === parent)]!.id };
      expect(copied.snapshot).toEqual({ ...rest, ...ofCopy, nonce, tree, original: id });
    }
    expect(after[2]!.snapshot.parent).toBe(after[1]!.id);
    await expectCopied();
  });
});

describe.each(some(SAME, HASH, FIXED))('a copy to a repository %s', (_, other) => {
  test('is not made again after a change of tags, pins or comments on either side', async () => {
    const { source, destination, copy, expectCopied } = await makeCopyPair(other);
    writeFileSync(join(source.source, 'a'), 'a');
    await source.backup({ tags: ['daily'] });
    await copy();
    await tagSnapshots(source.context, { selectors: ['latest'], set: ['weekly'] });
    await pinSnapshots(destination.context, { selectors: ['latest'] });
    const { snapshots, storedBytes } = await copy();
    const [copied, ...others] = await listSnapshots(destination.context);
    expect([others, copied!.snapshot]).toMatchObject([[], { tags: ['daily'], pinned: true }]);
    expect([snapshots.map(({ copyId }) => copyId), storedBytes]).toEqual([[copied!.id], 0]);
    await expectCopied();
  });
});

describe.each(some(SAME, OTHER, LARGER))('a copy to a repository %s', (_, other) => {
  test('reads and stores only what is new when it is repeated', async () => {
    const { source, destination, copy, expectCopied } = await makeCopyPair(other);
    Object.assign(source.context, { storeSizes: { blockRawBytes: 16_384, packBytes: 65_536, segmentBytes: 1e9 } });
    makeRandomTree(join(source.source, 'tree'), { seed: 3, fileCount: 30, fileSizeBytesMax: 20_000 });
    const large = createPrng(4).bytes(400_000);
    writeFileSync(join(source.source, 'large'), large);
    await source.backup();
    await copy();
    const packs = filesOf(destination, 'packs');
    expect(await copy()).toMatchObject({ storedBytes: 0, problems: [] });
    expect(filesOf(destination, 'packs')).toEqual(packs);
    large.fill('changed', 200_000, 200_010);
    writeFileSync(join(source.source, 'large'), large);
    writeFileSync(join(source.source, 'small'), 'small');
    await source.backup();
    const counting = new CountingBackend(new LocalBackend(join(source.directory, 'repository')));
    const again = await copySnapshots(
      { ...source.context, backend: counting },
      { destination: { backend: destination.context.backend } },
    );
    expect(again.snapshots.map(({ added }) => added !== undefined)).toEqual([false, true]);
    expect(again.snapshots[1]!.added!.fileCount).toBe(2);
    // Of 700,000 bytes. The directories are read whole.
    expect(counting.bytesReadIn('packs')).toBeLessThan(120_000);
    expect(again.snapshots[1]!.added!.bytes).toBeLessThan(40_000);
    expect(again.storedBytes).toBeLessThan(40_000);
    await expectCopied();
  });
});

describe.each(some(SAME, HASH, SMALLER))('a copy to a repository %s', (_, other) => {
  test('has what the next backup finds, and the next copy back', async () => {
    const { source, destination, copy } = await makeCopyPair(other);
    makeRandomTree(source.source, { seed: 5, fileCount: 25, fileSizeBytesMax: inSoak(100_000, 40_000) });
    await letSettle(...readdirSync(source.source).map((name) => join(source.source, name)));
    await source.backup();
    await copy();
    for (const force of [false, true]) {
      const { summary } = await destination.backup({ sources: [source.source], force });
      expect(summary).toMatchObject({ dataAdded: 0, dataBlobs: 0, treeBlobs: 0, filesNew: 0, filesChanged: 0 });
    }
    const back = await copySnapshots(destination.context, { destination: { backend: source.context.backend } });
    expect(back.snapshots.map(({ added }) => added?.bytes)).toEqual([undefined, 0, 0]);
    await source.expectClean();
  });
});

describe.each(some(SAME, OTHER, FIXED))('a copy to a repository %s', (_, other) => {
  test('can be predicted, which changes nothing', async () => {
    const { source, destination, copy } = await makeCopyPair(other);
    makeRandomTree(source.source, { seed: 6, fileCount: 25, fileSizeBytesMax: 50_000 });
    await source.backup();
    writeFileSync(join(source.source, 'more'), createPrng(7).bytes(9000));
    await source.backup();
    const before = filesOf(destination, '.');
    const predicted = await copy({ dryRun: true });
    expect(filesOf(destination, '.')).toEqual(before);
    expect(predicted).toMatchObject({ dryRun: true, storedBytes: 0, isExact: other === 'same ids' });
    expect(predicted.snapshots.map(({ copyId }) => copyId)).toEqual([undefined, undefined]);
    const { snapshots } = await copy();
    for (const [index, { added }] of snapshots.entries()) {
      const { bytes, fileCount } = predicted.snapshots[index]!.added!;
      expect(fileCount).toBe(added!.fileCount);
      expect(Math.abs(bytes - added!.bytes)).toBeLessThan(predicted.isExact ? 1 : 30_000);
    }
    const nothing = await copy({ dryRun: true });
    expect(nothing.snapshots.map(({ added }) => added)).toEqual([undefined, undefined]);
  });
});

test('a copy of several snapshots has those that are named, or that match', async () => {
  const { source, destination, copy } = await makeCopyPair({});
  writeFileSync(join(source.source, 'file'), 'content');
  const ids: string[] = [];
  for (const hostname of ['one', 'two', 'one']) ids.push((await source.backup({ hostname })).snapshotId!);
  expect((await copy({ selectors: ['latest~1', ids[1]!] })).snapshots.map(({ id }) => id)).toEqual([ids[1]]);
  expect((await copy({ filter: { hosts: ['one'] } })).snapshots.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
  expect(await listSnapshots(destination.context)).toHaveLength(3);
  await expect(copy({ filter: { hosts: ['three'] } })).rejects.toThrow(SnapshotNotFoundError);
  await expect(copy({ selectors: ['ffff'] })).rejects.toThrow(SnapshotNotFoundError);
  expect((await copy()).snapshots).toHaveLength(3);
});

test('a snapshot is copied once, whichever way it comes, and again when the copy was deleted', async () => {
  const { source, destination, copy } = await makeCopyPair({});
  const third = (await makeCopyPair({})).destination;
  writeFileSync(join(source.source, 'file'), 'content');
  const { snapshotId } = await source.backup();
  const { snapshots } = await copy();
  const onward = await copySnapshots(destination.context, { destination: { backend: third.context.backend } });
  expect(onward.snapshots[0]).toMatchObject({ id: snapshots[0]!.copyId, snapshot: { original: snapshotId } });
  const direct = await copySnapshots(source.context, { destination: { backend: third.context.backend } });
  expect(direct.snapshots[0]).toMatchObject({ copyId: onward.snapshots[0]!.copyId, added: undefined });
  await deleteSnapshots(destination.context, { selectors: [snapshots[0]!.copyId!], reclaim: false });
  const again = await copy();
  expect(again.snapshots[0]!.added).toMatchObject({ bytes: 0 });
  expect(again.reused.chunkCount).toBeGreaterThan(0);
  expect(again.snapshots[0]!.copyId).not.toBe(snapshots[0]!.copyId);
});

test('two snapshots that are copies of one another are copied once', async () => {
  const { source, destination, copy } = await makeCopyPair({});
  const third = (await makeCopyPair({})).destination.context.backend;
  writeFileSync(join(source.source, 'file'), 'content');
  const { snapshotId } = await source.backup();
  await copy();
  await deleteSnapshots(source.context, { selectors: [snapshotId!], reclaim: false });
  await copySnapshots(destination.context, { destination: { backend: source.context.backend } });
  await undeleteSnapshots(source.context, { selectors: [snapshotId!] });
  const { snapshots } = await copySnapshots(source.context, { destination: { backend: third } });
  expect(snapshots.map(({ added }) => added !== undefined)).toEqual([true, false]);
  expect(await listSnapshots({ backend: third })).toHaveLength(1);
});

test('an empty repository has nothing to copy, and a copy of empty files adds only trees', async () => {
  const { source, copy } = await makeCopyPair({});
  expect(await copy()).toMatchObject({ snapshots: [], problems: [], storedBytes: 0 });
  mkdirSync(join(source.source, 'directory'));
  writeFileSync(join(source.source, 'empty'), '');
  await source.backup();
  expect((await copy()).snapshots[0]!.added).toMatchObject({ fileCount: 0, chunkCount: 0, treeCount: 3 });
});

test('a repository is not copied to itself, whatever the name, and not to a copy of its files', async () => {
  const { source } = await makeCopyPair({});
  writeFileSync(join(source.source, 'file'), 'content');
  await source.backup();
  symlinkSync(join(source.directory, 'repository'), join(source.directory, 'link'));
  for (const [name, message] of [
    ['repository', 'both the source and the destination'],
    ['link', 'the same repository'],
  ] as const) {
    const backend = new LocalBackend(join(source.directory, name));
    const copying = copySnapshots(source.context, { destination: { backend } });
    await expect(copying).rejects.toThrow(UsageError);
    await expect(copying).rejects.toThrow(message);
  }
  expect(filesOf(source, 'locks')).toEqual([]);
});
