import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BackendError, CorruptDataError } from '../../../src/core/errors.ts';
import { RebuildNeededError } from '../../../src/core/ldm/filter-state.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { measureRelease, releaseSnapshot, releaseSnapshots } from '../../../src/core/ldm/fold-release.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import type { Chunk } from './fold-support.ts';
import * as support from './fold-support.ts';
import {
  closureOf,
  describeState,
  emptyState,
  fileId,
  leaf,
  pack,
  refsOf,
  snapshotOf,
  stateOf,
  tree,
  treeReader,
} from './fold-support.ts';
import { testProperty } from '../../support/property.ts';

/** The ids that `stateOf` gives its snapshots. */
function snapshotIds(...indexes: readonly number[]): string[] {
  return indexes.map((index) => fileId(10 + index));
}

/** Roots with much in common, from a list of numbers per tree. */
function rootsOf(plan: readonly (readonly number[])[]): Chunk[] {
  const made: Chunk[] = [leaf(0)];
  for (const children of plan) {
    made.push(tree(...children.map((child) => (child < made.length ? made[child]! : leaf(child)))));
  }
  return made.filter(({ kind }) => kind === 'tree').slice(-6);
}

function liveTotals(state: FilterState): { count: number; rawBytes: number; storedBytes: number } {
  const totals = { count: 0, rawBytes: 0, storedBytes: 0 };
  state.filter.forEachEntry((entry, isLive) => {
    if (!isLive) return;
    totals.count += 1;
    totals.rawBytes += state.filter.lengthOf(entry);
    totals.storedBytes += state.filter.storedBytesOf(entry);
  });
  return totals;
}

describe('releaseSnapshot', () => {
  it('leaves what other snapshots need and keeps the rest as dead chunks', async () => {
    const shared = tree(leaf(1), leaf(2));
    const roots = [tree(shared, leaf(3)), tree(shared, leaf(2))];
    const state = await stateOf(roots);
    await releaseSnapshot(state, fileId(10), treeReader(state, closureOf(...roots)));
    expect([roots[0]!, roots[1]!, shared, leaf(1), leaf(2), leaf(3)].map((chunk) => refsOf(state, chunk))).toEqual([
      0, 1, 1, 1, 2, 0,
    ]);
    expect([state.filter.liveCount, state.filter.deadCount]).toEqual([4, 2]);
    expect([...state.snapshots.keys()]).toEqual([fileId(11)]);
  });

  testProperty('gives the state that the remaining snapshots would have built', async (check) => {
    await check(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(25), { maxLength: 5 }), { minLength: 2, maxLength: 15 }),
        fc.nat(63),
        fc.boolean(),
        async (plan, mask, pauses) => {
          const roots = rootsOf(plan);
          const chunks = closureOf(...roots);
          const gone = roots.flatMap((_, index) => ((mask >> index) & 1 ? [index] : []));
          const state = await stateOf(roots);
          await releaseSnapshots(state, snapshotIds(...gone), treeReader(state, chunks, pauses));
          const kept = support.recount(roots.filter((_, index) => !gone.includes(index)));
          for (const chunk of chunks) expect(refsOf(state, chunk)).toBe(kept.get(chunk.hex) ?? 0);
          expect([state.filter.liveCount, state.filter.deadCount]).toEqual([kept.size, chunks.length - kept.size]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('brings released chunks back to life with the next snapshot that needs them', async () => {
    const root = tree(tree(leaf(1), leaf(2)), leaf(3));
    const state = await stateOf([root]);
    const before = describeState(state);
    const read = treeReader(state, closureOf(root));
    await releaseSnapshot(state, fileId(10), read);
    expect(state.filter.liveCount).toBe(0);
    await retainSnapshot(state, fileId(10), snapshotOf(root), read);
    expect(describeState(state)).toEqual(before);
  });

  it('goes 10,000 directories deep', async () => {
    let root = tree(leaf('bottom'));
    for (let depth = 0; depth < 10_000; depth += 1) root = tree(root);
    const state = await stateOf([root]);
    await releaseSnapshot(state, fileId(10), treeReader(state, closureOf(root)));
    expect([state.filter.liveCount, state.filter.deadCount]).toEqual([0, 10_002]);
  });

  it('changes nothing when a tree cannot be read', async () => {
    const [first, second] = [tree(leaf(1)), tree(leaf(2))];
    const root = tree(first, second);
    const state = await stateOf([root]);
    const before = describeState(state);
    for (const readable of [[], [root], [root, first], [root, second]]) {
      await expect(releaseSnapshot(state, fileId(10), treeReader(state, readable))).rejects.toThrow(CorruptDataError);
      expect(describeState(state)).toEqual(before);
    }
    const failing = (): Promise<Uint8Array> => Promise.reject(new BackendError('the disk is gone', { kind: 'other' }));
    await expect(releaseSnapshot(state, fileId(10), failing)).rejects.toThrow(BackendError);
    expect([state.isComplete, describeState(state)]).toEqual([true, before]);
  });

  it('takes a tree that never could be read away without reading it, and the state is complete again', async () => {
    const inner = tree(leaf(1));
    const roots = [tree(inner, leaf(2)), tree(leaf(3))];
    const state = emptyState();
    const chunks = closureOf(...roots);
    addSegment(state, fileId(1), [pack(fileId(2), chunks)], () => true);
    const read = treeReader(state, roots);
    for (const [index, root] of roots.entries())
      await retainSnapshot(state, fileId(10 + index), snapshotOf(root), read);
    expect([...state.unreadableTrees.keys()]).toEqual([inner.hex]);
    await releaseSnapshot(state, fileId(10), treeReader(state, chunks));
    expect([state.unreadableTrees.size, state.isComplete, state.filter.liveCount]).toEqual([0, true, 2]);
  });

  it('forgets a missing chunk that nothing needs any more, as a rebuild would', async () => {
    const root = tree(leaf(1), leaf(2));
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(2), [root, leaf(1)])], () => true);
    const before = describeState(state);
    const read = treeReader(state, [root]);
    await retainSnapshot(state, fileId(10), snapshotOf(root), read);
    expect(state.filter.missingCount).toBe(1);
    await releaseSnapshot(state, fileId(10), read);
    expect(describeState(state)).toEqual(before);
  });

  it('refuses, unchanged, when the counts are lower than the snapshots say', async () => {
    const root = tree(leaf(1), leaf(1));
    const state = await stateOf([root]);
    state.filter.release(state.filter.find(leaf(1).id, 0));
    const before = describeState(state);
    await expect(releaseSnapshot(state, fileId(10), treeReader(state, [root]))).rejects.toThrow(RebuildNeededError);
    expect(describeState(state)).toEqual(before);
  });
});

describe('measureRelease', () => {
  it('is more than the sum of the single answers when only the set shares something', async () => {
    const shared = tree(leaf('a'), leaf('b'));
    const roots = [tree(shared, leaf(1)), tree(shared, leaf(2)), tree(leaf(3))];
    const state = await stateOf(roots);
    const read = treeReader(state, closureOf(...roots));
    const [first, second, both] = [
      await measureRelease(state, snapshotIds(0), read),
      await measureRelease(state, snapshotIds(1), read),
      await measureRelease(state, snapshotIds(0, 1, 0), read),
    ];
    expect([first, second].map(({ chunkCount, treeCount }) => [chunkCount, treeCount])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect([both.chunkCount, both.treeCount]).toEqual([4, 3]);
    const sharedBytes = closureOf(shared).reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(both.rawBytes).toBe(first.rawBytes + second.rawBytes + sharedBytes);
  });

  testProperty('is what the release then frees, and changes nothing', async (check) => {
    await check(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(25), { maxLength: 5 }), { minLength: 2, maxLength: 15 }),
        fc.nat(63),
        async (plan, mask) => {
          const roots = rootsOf(plan);
          const state = await stateOf(roots);
          const ids = snapshotIds(...roots.flatMap((_, index) => ((mask >> index) & 1 ? [index] : [])));
          const read = treeReader(state, closureOf(...roots));
          const before = describeState(state);
          const measured = await measureRelease(state, ids, read);
          expect(describeState(state)).toEqual(before);
          const live = liveTotals(state);
          await releaseSnapshots(state, ids, read);
          const left = liveTotals(state);
          expect(measured.chunkCount + measured.treeCount).toBe(live.count - left.count);
          expect(measured.rawBytes).toBe(live.rawBytes - left.rawBytes);
          expect(measured.storedBytes).toBe(live.storedBytes - left.storedBytes);
        },
      ),
      { numRuns: 60 },
    );
  });
});
