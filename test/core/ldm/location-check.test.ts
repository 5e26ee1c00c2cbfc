import { describe, expect, it } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { addSegment } from '../../../src/core/ldm/fold.ts';
import type { ChunkLocation } from '../../../src/core/ldm/ldm-filter.ts';
import { LocationCheck } from '../../../src/core/ldm/location-check.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { emptyState, fileId, leaf, pack } from './fold-support.ts';

const LEAVES = Array.from({ length: 12 }, (_, index) => leaf(index));

/** Chunks 0 to 3 are in one pack only, 4 to 7 in two, 8 is twice in one. */
const PACKS: readonly PackContents[] = [
  pack(fileId(20), LEAVES.slice(0, 8)),
  pack(fileId(21), [...LEAVES.slice(4, 9), LEAVES[8]!, ...LEAVES.slice(9)]),
];

/** The packs in either order, so that the copy which counts is known first or last. */
function stateOf(packs: readonly PackContents[]): FilterState {
  const state = emptyState();
  for (const [index, each] of packs.entries()) addSegment(state, fileId(index + 1), [each], () => true);
  return state;
}

function verify(state: FilterState, packs: readonly PackContents[] = PACKS): void {
  const check = new LocationCheck(state);
  for (const each of packs) check.verify(each);
}

describe.each([
  ['first to last', PACKS],
  ['last to first', PACKS.toReversed()],
])('the locations of a state that was folded %s', (_, packs) => {
  it('match its segments, also where a chunk is in two packs', () => {
    expect(() => verify(stateOf(packs))).not.toThrow();
    expect(() => verify(stateOf(packs), packs.toReversed())).not.toThrow();
  });

  it.each([
    ['pack', { packIndex: 1 }],
    ['block', { blockOffset: 1 }],
    ['offset', { offsetInBlock: 1 }],
    ['length', { lengthBytes: 1 }],
    ['share', { storedBytes: 1 }],
  ] as const)('are refused for any chunk with another %s', (_name, difference) => {
    for (const { id } of LEAVES) {
      const state = stateOf(packs);
      const entry = state.filter.find(id, 0);
      const location = state.filter.location(entry);
      for (const [field, added] of Object.entries(difference)) {
        const key = field as keyof ChunkLocation;
        location[key] = key === 'packIndex' ? 1 - location[key] : location[key] + added;
      }
      state.filter.relocate(entry, location);
      expect(() => verify(state)).toThrow(CorruptDataError);
    }
  });

  it('are refused for the other copy of a chunk, which does not take precedence', () => {
    for (const { id } of LEAVES.slice(4, 8)) {
      const state = stateOf(packs);
      const later = stateOf([PACKS[1]!]);
      const location = later.filter.location(later.filter.find(id, 0));
      state.filter.relocate(state.filter.find(id, 0), { ...location, packIndex: state.packs.find(fileId(21))! });
      expect(() => verify(state)).toThrow(CorruptDataError);
    }
  });

  it('are refused with a chunk too many, or with one too few', () => {
    for (const { id } of LEAVES) {
      const added = stateOf(packs);
      added.filter.insert(leaf('another').id, 0, added.filter.location(added.filter.find(id, 0)));
      expect(() => verify(added)).toThrow(CorruptDataError);
      const lacking = stateOf(packs);
      lacking.filter.forget(lacking.filter.find(id, 0));
      expect(() => verify(lacking)).toThrow(CorruptDataError);
    }
  });

  it('are refused with a pack that is described differently, or that is neither known nor absent', () => {
    const [one, other] = PACKS as [PackContents, PackContents];
    expect(() => verify(stateOf(packs), [{ ...one, sizeBytes: one.sizeBytes + 1 }])).toThrow(CorruptDataError);
    expect(() => verify(stateOf(packs), [{ ...one, kind: 'tree' }])).toThrow(CorruptDataError);
    expect(() => verify(stateOf([one]), [one, other])).toThrow(CorruptDataError);
    const absent = emptyState();
    addSegment(absent, fileId(1), [one, other], (id) => id === one.id);
    expect(() => verify(absent)).not.toThrow();
  });
});
