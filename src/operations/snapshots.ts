import { textOf } from '../util/byte-string.ts';
import { withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { readSnapshots } from './select-snapshots.ts';
import type { SnapshotListing } from './select-snapshots.ts';

export type { SnapshotListing } from './select-snapshots.ts';

export interface ListSnapshotsOptions {
  /** Those that were deleted and can still be brought back. */
  readonly deleted?: boolean;
  readonly hostname?: string;
  /** All of them. */
  readonly tags?: readonly string[];
  /** Absolute paths that the snapshot has, all of them. */
  readonly paths?: readonly string[];
}

/** The snapshots, oldest first. A manifest that cannot be read, or is gone, is a warning, not passed over. */
export async function listSnapshots(
  context: OperationContext,
  options: ListSnapshotsOptions = {},
): Promise<SnapshotListing[]> {
  return await withRepository(context, 'read', async ({ backend }) => {
    const { listings, copied, damaged } = await readSnapshots(backend, { deleted: options.deleted === true });
    for (const message of [...copied.values(), ...damaged.values()]) context.onNotice?.({ kind: 'warning', message });
    return listings.filter((listing) => isWanted(listing, options));
  });
}

function isWanted({ snapshot }: SnapshotListing, { hostname, tags = [], paths = [] }: ListSnapshotsOptions): boolean {
  const has = new Set(snapshot.paths.map((path) => textOf(path)));
  return (
    (hostname === undefined || snapshot.hostname === hostname) &&
    tags.every((tag) => snapshot.tags.includes(tag)) &&
    paths.every((path) => has.has(path))
  );
}
