import { groupKey } from '../../core/snapshots/snapshot-filter.ts';
import type { CopiesThere } from '../../core/snapshots/copies-there.ts';
import type { SourceSnapshot } from './select-for-copy.ts';

/** A snapshot of the source that was copied before. */
interface EarlierCopy {
  readonly snapshot: SourceSnapshot;
  readonly copyId: string;
}

/**
 * Returns the earlier copies that have most in common with the snapshots to be copied: for each the one of its parent,
 * else the newest older one with the same host and paths, else the oldest newer one. None for a snapshot that comes
 * after another one to be copied. `all`: all snapshots of the source, oldest first.
 */
export function findEarlierCopies(
  all: readonly SourceSnapshot[],
  copies: CopiesThere,
  isToBeCopied: (snapshot: SourceSnapshot) => boolean,
): EarlierCopy[] {
  const useful = new Set<EarlierCopy>();
  const byId = new Map<string, EarlierCopy | 'new'>();
  /** The newest so far. */
  const ofGroup = new Map<string, EarlierCopy | 'new'>();
  const groupsWithout = new Set<string>();
  for (const snapshot of all) {
    const group = groupKey(snapshot.snapshot);
    const there = copies.find(snapshot);
    const copy = there === undefined ? undefined : { snapshot, copyId: there };
    if (copy !== undefined && groupsWithout.delete(group)) useful.add(copy);
    if (copy === undefined && !isToBeCopied(snapshot)) continue;
    if (copy === undefined) {
      const best = byId.get(snapshot.snapshot.parent ?? '') ?? ofGroup.get(group);
      if (best === undefined) groupsWithout.add(group);
      else if (best !== 'new') useful.add(best);
    }
    byId.set(snapshot.id, copy ?? 'new');
    ofGroup.set(group, copy ?? 'new');
  }
  return [...useful];
}
