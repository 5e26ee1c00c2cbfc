import type { CopyProblem } from '../../core/session/notices.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { lostMessage } from '../../core/repository/read-snapshots.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Caller } from '../../core/session/caller.ts';
import { assertCountable, selectSnapshot } from '../../core/snapshots/select-snapshots.ts';
import { noSnapshots } from '../../core/snapshots/unmatched-filter.ts';
import { matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

/** A snapshot of the source that is to be copied. */
export interface SourceSnapshot extends SnapshotListing {
  /** The id of its root tree. */
  readonly root: Uint8Array;
}

export interface SelectedSnapshots {
  /** Oldest first. */
  readonly snapshots: readonly SourceSnapshot[];
  readonly problems: readonly CopyProblem[];
}

export interface CopySelection {
  /** Ids, `latest` or `latest~N`. Default: all snapshots that match the filter. */
  readonly selectors?: readonly string[];
  readonly filter?: SnapshotFilter;
}

/** Finds the snapshots to be copied. `opened`: the state of the source. */
export function selectForCopy(
  caller: Caller,
  opened: OpenedState,
  all: ReadSnapshots,
  { selectors = [], filter = {} }: CopySelection,
): SelectedSnapshots {
  const named = new Set(selectors.map((name) => selectSnapshot(caller, all, name, { filter }).id));
  assertCountable(selectors, opened.damage.lostSnapshots);
  const isMeant = ({ id, snapshot }: SnapshotListing): boolean =>
    selectors.length > 0 ? named.has(id) : snapshot.hold === undefined && matchesFilter(snapshot, filter);
  const listings = all.listings.filter(isMeant);
  const problems = selectors.length > 0 ? [] : unreadableSnapshots(opened, all);
  if (listings.length + problems.length === 0 && all.listings.length > 0) {
    throw noSnapshots(all.listings, filter);
  }
  const snapshots = allSnapshotsOf(opened, all).filter(isMeant);
  const found = new Set(snapshots.map(({ id }) => id));
  const gone = listings.filter(({ id }) => !found.has(id));
  const deleted = gone.map(({ id }) => ({ snapshotId: id, message: 'it was deleted meanwhile' }));
  return { snapshots, problems: [...problems, ...deleted] };
}

/** Their host, paths and time are not known, so any filter may mean them. */
function unreadableSnapshots({ damage }: OpenedState, { damaged }: ReadSnapshots): CopyProblem[] {
  const reasons = new Map([...damaged, ...damage.lostSnapshots.map((id) => [id, lostMessage(id)] as const)]);
  return [...reasons].map(([snapshotId, message]) => ({ snapshotId, message, advice: { code: 'check-and-repair' } }));
}

/** Returns all snapshots of the source, oldest first. */
export function allSnapshotsOf(opened: OpenedState, { listings }: ReadSnapshots): SourceSnapshot[] {
  return listings.flatMap((listing) => sourceSnapshotOf(opened, listing) ?? []);
}

/** Returns undefined for a snapshot that was deleted before the state was opened. */
function sourceSnapshotOf({ state }: OpenedState, { id, snapshot }: SnapshotListing): SourceSnapshot | undefined {
  const folded = state.snapshots.get(id);
  return folded && { id, snapshot, root: folded.tree };
}
