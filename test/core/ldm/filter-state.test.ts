import { describe, expect, it } from 'vitest';
import { addSegment } from '../../../src/core/ldm/fold.ts';
import { emptyState, fileId, leaf, pack } from './fold-support.ts';

describe('FilterState', () => {
  const packs = [pack(fileId(1), [leaf(1)]), pack(fileId(2), [leaf(2)])];
  const state = emptyState();
  addSegment(state, fileId(10), packs, (id) => id !== fileId(2));

  it.each([
    { what: 'only new segments and packs came', segments: [10, 11], present: [1, 3], isCurrent: true },
    { what: 'a folded segment is gone', segments: [11], present: [1], isCurrent: false },
    { what: 'a pack is gone', segments: [10], present: [], isCurrent: false },
    { what: 'a pack that was absent is back', segments: [10], present: [1, 2], isCurrent: false },
  ])('says whether folding the rest is enough: $what', ({ segments, present, isCurrent }) => {
    const presentPacks = new Set(present.map(fileId));
    const segmentIds = new Set(segments.map(fileId));
    expect(state.isCurrent({ segmentIds, isPresent: (id) => presentPacks.has(id) })).toBe(isCurrent);
  });

  it('is not complete while it is being changed, and refuses a second change', () => {
    const changing = emptyState();
    expect(changing.isComplete).toBe(true);
    changing.beginChange();
    expect(changing.isComplete).toBe(false);
    expect(() => changing.beginChange()).toThrow(/in progress/);
    changing.endChange();
    expect(changing.isComplete).toBe(true);
  });
});
