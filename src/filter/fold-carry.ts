import assert from 'node:assert/strict';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState } from './filter-state.ts';
import { NO_ENTRY } from './ldm-filter.ts';

/**
 * Gives a state that has segments but no snapshots the snapshots and counts of a complete one, without reading a tree:
 * the counts depend on the snapshots only, the locations on the segments only. For a compaction, whose chunks move from
 * one set of segments to another. The result is what `retainSnapshot` of each snapshot would give.
 *
 * Throws `RebuildNeededError` if a live chunk is in none of the target's segments; the target is useless then.
 */
export function carrySnapshots(target: FilterState, source: FilterState): void {
  assert(target.snapshots.size === 0 && source.isComplete);
  target.beginChange();
  target.filter.reserve(source.filter.liveCount);
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  source.filter.forEachEntry((entry, isLive) => {
    if (!isLive) return;
    source.filter.copyId(entry, id, 0);
    const moved = target.filter.find(id, 0);
    if (moved === NO_ENTRY) throw new RebuildNeededError(`chunk ${id.toString('hex')} is in no segment`);
    for (let left = source.filter.refs(entry); left > 0; left -= 1) target.filter.retain(moved);
  });
  for (const [snapshotId, folded] of source.snapshots) target.snapshots.set(snapshotId, folded);
  target.endChange();
}
