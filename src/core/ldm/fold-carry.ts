import assert from 'node:assert/strict';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState } from './filter-state.ts';
import { NO_ENTRY } from './ldm-filter.ts';

/**
 * Copies the snapshots and reference counts of a complete state to a state that has segments but no snapshots, without
 * reading a tree: the counts depend only on the snapshots, and the locations only on the segments. Compaction uses this
 * because it moves chunks from one set of segments to another. The result is the same as calling `retainSnapshot` for
 * each snapshot.
 *
 * Throws `RebuildNeededError` if no segment of the target contains a live chunk; the target is then unusable.
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
    if (moved === NO_ENTRY) throw new RebuildNeededError(`chunk ${id.toString('hex')} is not in any segment`);
    for (let left = source.filter.refs(entry); left > 0; left -= 1) target.filter.retain(moved);
  });
  for (const [snapshotId, folded] of source.snapshots) target.snapshots.set(snapshotId, folded);
  target.endChange();
}
