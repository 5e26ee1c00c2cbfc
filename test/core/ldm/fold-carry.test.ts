import { describe, expect, it } from 'vitest';
import { RebuildNeededError } from '../../../src/core/ldm/filter-state.ts';
import { carrySnapshots } from '../../../src/core/ldm/fold-carry.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import {
  closureOf,
  describeState,
  emptyState,
  fileId,
  leaf,
  pack,
  snapshotOf,
  stateOf,
  tree,
  treeReader,
} from './fold-support.ts';

describe('carrySnapshots', () => {
  const shared = tree(leaf(1), leaf(2), leaf(2));
  const roots = [tree(shared, leaf(3)), tree(shared, shared, leaf(4))];
  const chunks = closureOf(...roots);

  it('gives the state that retaining every snapshot would give', async () => {
    const [carried, retained] = [emptyState(), emptyState()];
    for (const state of [carried, retained]) {
      addSegment(state, fileId(50), [pack(fileId(51), [...chunks, leaf('dead')], 2)], () => true);
    }
    carrySnapshots(carried, await stateOf(roots));
    for (const [index, root] of roots.entries()) {
      await retainSnapshot(retained, fileId(10 + index), snapshotOf(root), treeReader(retained, chunks));
    }
    expect(describeState(carried)).toEqual(describeState(retained));
    expect(carried.isComplete).toBe(true);
  });

  it('refuses segments that lack a live chunk', async () => {
    const target = emptyState();
    addSegment(target, fileId(50), [pack(fileId(51), chunks.slice(1))], () => true);
    const source = await stateOf(roots);
    expect(() => carrySnapshots(target, source)).toThrow(RebuildNeededError);
    expect(target.isComplete).toBe(false);
  });
});
