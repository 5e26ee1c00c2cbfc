import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BackendError } from '../../../src/core/errors.ts';
import { RebuildNeededError } from '../../../src/core/ldm/filter-state.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import { testProperty } from '../../support/property.ts';
import type { Chunk } from './fold-support.ts';
import * as support from './fold-support.ts';
import {
  closureOf,
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

const ALL = (): boolean => true;

function packOf(state: FilterState, chunk: Chunk): string {
  return state.packs.get(state.filter.packIndexOf(state.filter.find(chunk.id, 0))).id;
}

describe('addSegment', () => {
  it('makes chunks known as dead ones with their locations', () => {
    const state = emptyState();
    const chunks = [leaf(1), leaf(2), leaf(3), leaf(4)];
    const contents = pack(fileId(7), chunks, 3);
    addSegment(state, fileId(1), [contents], ALL);
    expect([state.filter.liveCount, state.filter.deadCount, state.isComplete]).toEqual([0, 4, true]);
    const second = state.filter.location(state.filter.find(chunks[1]!.id, 0));
    expect(second).toMatchObject({
      packIndex: state.packs.find(fileId(7)),
      blockOffset: contents.blocks[0]!.offset,
      offsetInBlock: chunks[0]!.bytes.length,
      lengthBytes: chunks[1]!.bytes.length,
    });
    const fourth = state.filter.location(state.filter.find(chunks[3]!.id, 0));
    expect(fourth).toMatchObject({ blockOffset: contents.blocks[1]!.offset, offsetInBlock: 0 });
  });

  it('shares a pack’s stored bytes out among its chunks without a rest', () => {
    const state = emptyState();
    addSegment(
      state,
      fileId(1),
      [
        pack(
          fileId(7),
          Array.from({ length: 50 }, (_, index) => leaf(index)),
          7,
        ),
      ],
      ALL,
    );
    let storedBytes = 0;
    state.filter.forEachEntry((entry) => {
      storedBytes += state.filter.storedBytesOf(entry);
    });
    expect(storedBytes).toBe(state.packs.get(0).storedBytes);
  });

  it('gives a chunk in several packs the one with the smallest id, in any order of segments', () => {
    const chunk = leaf('shared');
    const packs = [5, 3, 9, 4].map((number) => pack(fileId(number), [leaf(number), chunk]));
    const orders = [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1],
      [1, 3, 0, 2],
    ];
    const descriptions = orders.map((order) => {
      const state = emptyState();
      for (const index of order) addSegment(state, fileId(100 + index), [packs[index]!], ALL);
      expect(packOf(state, chunk)).toBe(fileId(3));
      return support.describeState(state);
    });
    for (const description of descriptions) expect(description).toEqual(descriptions[0]);
  });

  it('takes the first of two copies in one pack', () => {
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(7), [leaf(1), leaf(2), leaf(3), leaf(1)], 2)], ALL);
    expect(state.filter.location(state.filter.find(leaf(1).id, 0)).offsetInBlock).toBe(0);
    expect(state.filter.deadCount).toBe(3);
  });

  it('skips packs that are not present, remembers them, and takes them up when a later segment finds them', () => {
    const state = emptyState();
    const lost = pack(fileId(7), [leaf(1)]);
    addSegment(state, fileId(1), [lost], () => false);
    expect([state.packs.count, state.filter.deadCount, [...state.absentPacks]]).toEqual([0, 0, [lost.id]]);
    addSegment(state, fileId(2), [lost], ALL);
    expect([state.packs.count, state.filter.deadCount, [...state.absentPacks]]).toEqual([1, 1, []]);
  });

  it('does nothing for a folded segment and for packs that another segment brought', () => {
    const state = emptyState();
    const contents = pack(fileId(7), [leaf(1)]);
    addSegment(state, fileId(1), [contents], ALL);
    addSegment(state, fileId(1), [pack(fileId(8), [leaf(2)])], ALL);
    addSegment(state, fileId(2), [contents], ALL);
    expect([state.packs.count, state.filter.deadCount, state.segments.size]).toEqual([1, 1, 2]);
  });

  it('gives a missing chunk its location, and the state is complete again', async () => {
    const root = tree(leaf(1), leaf(2));
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(7), [root])], ALL);
    addSegment(state, fileId(2), [pack(fileId(8), [leaf(1)])], ALL);
    await retainSnapshot(state, fileId(9), snapshotOf(root), treeReader(state, [root]));
    expect([state.filter.missingCount, state.isComplete]).toEqual([1, false]);
    addSegment(state, fileId(3), [pack(fileId(6), [leaf(2)])], ALL);
    expect([state.filter.missingCount, state.isComplete, refsOf(state, leaf(2))]).toEqual([0, true, 1]);
  });

  it('refuses, unchanged, a pack with a tree that was counted as missing', async () => {
    const inner = tree(leaf(1));
    const root = tree(inner);
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(7), [root])], ALL);
    await retainSnapshot(state, fileId(9), snapshotOf(root), treeReader(state, [root]));
    const before = support.describeState(state);
    expect(() => addSegment(state, fileId(2), [pack(fileId(6), [leaf(1)]), pack(fileId(8), [inner])], ALL)).toThrow(
      RebuildNeededError,
    );
    expect(support.describeState(state)).toEqual(before);
    addSegment(state, fileId(3), [pack(fileId(6), [leaf(1)])], ALL);
    expect(state.packs.count).toBe(2);
  });
});

describe('retainSnapshot', () => {
  it('counts one reference per edge of the live graph, repeated children too', async () => {
    const inner = tree(leaf(1), leaf(1), leaf(2));
    const root = tree(inner, inner, leaf(2));
    const state = await stateOf([root]);
    expect([root, inner, leaf(1), leaf(2)].map((chunk) => refsOf(state, chunk))).toEqual([1, 2, 2, 2]);
    expect(state.isComplete).toBe(true);
  });

  it('counts a snapshot of the same root with one increment and no read', async () => {
    const root = tree(tree(leaf(1)), leaf(2));
    const state = await stateOf([root]);
    await retainSnapshot(state, fileId(99), snapshotOf(root), () => {
      throw new Error('nothing must be read');
    });
    expect([root, leaf(2)].map((chunk) => refsOf(state, chunk))).toEqual([2, 1]);
  });

  for (const pauses of [false, true]) {
    testProperty(`gives the counts of a recount from the roots, reads with promises: ${pauses}`, async (check) => {
      await check(
        fc.asyncProperty(
          fc.array(fc.array(fc.nat(30), { maxLength: 6 }), { minLength: 1, maxLength: 20 }),
          async (plan) => {
            const made: Chunk[] = [leaf(0)];
            for (const children of plan) {
              made.push(tree(...children.map((child) => (child < made.length ? made[child]! : leaf(child)))));
            }
            const roots = made.filter((chunk, index) => chunk.kind === 'tree' && index % 2 === 1);
            const state = emptyState();
            const chunks = closureOf(...roots);
            addSegment(state, fileId(1), [pack(fileId(2), chunks)], ALL);
            for (const [index, root] of roots.entries()) {
              await retainSnapshot(state, fileId(10 + index), snapshotOf(root), treeReader(state, chunks, pauses));
            }
            const expected = support.recount(roots);
            for (const chunk of chunks) expect(refsOf(state, chunk)).toBe(expected.get(chunk.hex));
            expect(state.filter.liveCount).toBe(expected.size);
          },
        ),
        { numRuns: 60 },
      );
    });
  }

  it('goes 10,000 directories deep', async () => {
    let root = tree(leaf('bottom'));
    const chunks = [leaf('bottom'), root];
    for (let depth = 0; depth < 10_000; depth += 1) {
      root = tree(root);
      chunks.push(root);
    }
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(2), chunks, 100)], ALL);
    await retainSnapshot(state, fileId(3), snapshotOf(root), treeReader(state, chunks));
    expect([state.filter.liveCount, refsOf(state, leaf('bottom'))]).toEqual([10_002, 1]);
  });

  it('notes damaged, malformed and missing trees and does not count below them', async () => {
    const [damaged, malformed, missing, whole] = [tree(leaf(1)), tree(leaf(2), leaf(3)), tree(leaf(4)), tree(leaf(5))];
    const root = tree(damaged, malformed, missing, whole);
    const state = emptyState();
    const stored = closureOf(root).filter((chunk) => chunk !== missing);
    addSegment(state, fileId(1), [pack(fileId(2), stored)], ALL);
    const cut = { ...malformed, bytes: malformed.bytes.subarray(0, -1) };
    await retainSnapshot(state, fileId(3), snapshotOf(root), treeReader(state, [root, cut, whole, missing]));
    expect([...state.unreadableTrees.keys()].sort()).toEqual([damaged.hex, malformed.hex, missing.hex].sort());
    expect([1, 2, 3, 4, 5].map((name) => refsOf(state, leaf(name)))).toEqual([0, 0, 0, 0, 1]);
    expect(state.isComplete).toBe(false);
  });

  it('counts a file chunk that no segment knows as missing', async () => {
    const root = tree(leaf(1), leaf(2), leaf(2));
    const state = emptyState();
    addSegment(state, fileId(1), [pack(fileId(2), [root, leaf(1)])], ALL);
    await retainSnapshot(state, fileId(3), snapshotOf(root), treeReader(state, [root]));
    expect([state.filter.missingCount, refsOf(state, leaf(2)), state.isComplete]).toEqual([1, 2, false]);
  });

  it('passes a failing storage on and is unusable afterwards', async () => {
    const root = tree(tree(leaf(1)), tree(leaf(2)));
    const state = emptyState();
    const chunks = closureOf(root);
    addSegment(state, fileId(1), [pack(fileId(2), chunks)], ALL);
    const read = treeReader(state, chunks);
    const failing = (entry: number): Uint8Array | Promise<Uint8Array> => {
      if (support.idOf(state, entry) === root.hex) return read(entry);
      return Promise.reject(new BackendError('the disk is gone', { kind: 'other' }));
    };
    await expect(retainSnapshot(state, fileId(3), snapshotOf(root), failing)).rejects.toThrow(BackendError);
    expect([state.isComplete, state.snapshots.size]).toEqual([false, 0]);
    expect(() => addSegment(state, fileId(9), [], ALL)).toThrow(/has failed/);
  });
});
