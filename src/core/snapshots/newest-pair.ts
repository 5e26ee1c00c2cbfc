import { SnapshotNotFoundError } from '../errors.ts';
import type { ReadSnapshots, SnapshotListing } from '../repository/read-snapshots.ts';
import type { Caller } from '../session/caller.ts';
import { describeListing, selectSnapshot } from './select-snapshots.ts';
import { groupKey, matchesFilter } from './snapshot-filter.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { joinVersions } from './snapshot-versions.ts';

/**
 * Finds the newest snapshot that matches the filter, and the one before it of the same host and paths. Versions of the
 * same snapshot count as one.
 * @throws SnapshotNotFoundError if there is none before it
 */
export function selectNewestPair(
  caller: Caller,
  snapshots: ReadSnapshots,
  filter: SnapshotFilter = {},
): { readonly older: SnapshotListing; readonly newer: SnapshotListing } {
  const newer = selectSnapshot(caller, snapshots, 'latest', { filter });
  const key = groupKey(newer.snapshot);
  const series = snapshots.listings.filter(
    ({ snapshot }) => snapshot.hold === undefined && matchesFilter(snapshot, filter) && groupKey(snapshot) === key,
  );
  const older = joinVersions(series).at(-2)?.newest;
  if (older !== undefined) return { older, newer };
  throw new SnapshotNotFoundError(`no earlier snapshot of the same host and paths as ${describeListing(newer)}`, {
    advice: { code: 'list-snapshots' },
  });
}
