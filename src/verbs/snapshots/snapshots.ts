import type { ListedSnapshot } from '../../core/removing/remove-snapshots.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { ReadSnapshots, SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { measureSnapshots } from '../../core/removing/remove-snapshots.ts';
import type { FreedBytes } from '../../core/removing/remove-snapshots.ts';
import { assertCountable, selectSnapshot, warnOfFuture } from '../../core/snapshots/select-snapshots.ts';
import { noteUnmatched } from '../../core/snapshots/unmatched-filter.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
export type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export interface ListSnapshotsOptions extends SnapshotFilter {
  /** Lists deleted snapshots that can still be undeleted. */
  readonly deleted?: boolean;
  /** Also measures what only each snapshot needs. */
  readonly cost?: boolean;
}

export interface ShownSnapshot extends SnapshotListing {
  readonly onlyHere: FreedBytes;
  /** Whether the snapshot that this one was compared with still exists. */
  readonly isParentPresent: boolean;
}

/** Lists the snapshots, oldest first. Warns about missing or unreadable manifests, and about dates in the future. */
export async function listSnapshots(
  context: OperationContext,
  options: ListSnapshotsOptions = {},
): Promise<ListedSnapshot[]> {
  assertArguments<ListSnapshotsOptions>(context, options, { ...FILTER_KINDS, deleted: 'flag', cost: 'flag' });
  const { deleted = false, cost = false } = options;
  if (!cost) {
    const found = await withRepository(context, 'list', async ({ files }) => files.readSnapshots({ deleted }));
    // Without a lock, another command may only be changing what looks damaged or was not found.
    const isDoubtful = found.hasMoved || found.copied.size + found.damaged.size > 0;
    if (!isDoubtful || context.backend.traffic === undefined) return matchingListings(context, options, found);
  }
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots({ deleted });
    const matching = matchingListings(context, options, found);
    if (!cost) return matching;
    const opened = await repository.openState();
    const measured: ListedSnapshot[] = [];
    for (const listing of matching) {
      const isCounted = opened.state.snapshots.has(listing.id);
      measured.push(isCounted ? { ...listing, onlyHere: await measureSnapshots(opened, [listing]) } : listing);
    }
    return measured;
  });
}

/** Returns what matches, after the warnings. */
function matchingListings(
  context: OperationContext,
  options: ListSnapshotsOptions,
  { listings, copied, damaged }: ReadSnapshots,
): SnapshotListing[] {
  for (const [snapshotId, reason] of [...copied, ...damaged])
    context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
  const matching = listings.filter(({ snapshot }) => matchesFilter(snapshot, options));
  if (matching.length === 0) noteUnmatched(context, listings, options);
  warnOfFuture(context, matching);
  return matching;
}

/** Returns everything about one snapshot. */
export async function showSnapshot(
  context: OperationContext,
  options: { readonly selector: string; readonly filter?: SnapshotFilter },
): Promise<ShownSnapshot> {
  assertArguments<typeof options>(context, options, { selector: 'text!', filter: FILTER_KINDS });
  const { selector, filter } = options;
  return await withRepository(context, 'read', async (repository) => {
    const snapshots = await repository.files.readSnapshots();
    const listing = selectSnapshot(context, snapshots, selector, { filter });
    const opened = await repository.openState();
    assertCountable([selector], opened.damage.lostSnapshots);
    const { parent } = listing.snapshot;
    const isParentPresent = snapshots.listings.some(({ id }) => id === parent);
    return { ...listing, onlyHere: await measureSnapshots(opened, [listing]), isParentPresent };
  });
}
