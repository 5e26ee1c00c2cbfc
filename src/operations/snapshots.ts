import { withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import { warnOfFuture } from './select-snapshots.ts';
import { matchesFilter } from './snapshot-filter.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';

export type { SnapshotListing } from '../repository/read-snapshots.ts';
export type { SnapshotFilter } from './snapshot-filter.ts';

export interface ListSnapshotsOptions extends SnapshotFilter {
  /** Lists deleted snapshots that can still be undeleted. */
  readonly deleted?: boolean;
}

/** Lists the snapshots, oldest first. Warns about missing or unreadable manifests, and about dates in the future. */
export async function listSnapshots(
  context: OperationContext,
  options: ListSnapshotsOptions = {},
): Promise<SnapshotListing[]> {
  return await withRepository(context, 'read', async ({ files }) => {
    const { listings, copied, damaged } = await files.readSnapshots({ deleted: options.deleted === true });
    for (const [snapshotId, reason] of [...copied, ...damaged])
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    const matching = listings.filter(({ snapshot }) => matchesFilter(snapshot, options));
    warnOfFuture(context, matching);
    return matching;
  });
}
