import type { SnapshotListing } from '../repository/read-snapshots.ts';

/** The least number of digits by which a snapshot can be named. */
export const PREFIX_DIGITS_MIN = 4;

type Index = ReadonlyMap<string, readonly SnapshotListing[]>;

/** Made once for each list, because thousands of snapshots can be named by one command. */
const indexes = new WeakMap<readonly SnapshotListing[], Index>();

/** Returns the few snapshots whose id, or that of the snapshot that they replace, may begin with these digits. */
export function listingsNear(listings: readonly SnapshotListing[], prefix: string): readonly SnapshotListing[] {
  let index = indexes.get(listings);
  if (index === undefined) indexes.set(listings, (index = indexOf(listings)));
  return index.get(startOf(prefix)) ?? [];
}

function indexOf(listings: readonly SnapshotListing[]): Index {
  const index = new Map<string, SnapshotListing[]>();
  for (const listing of listings) {
    const { id, snapshot } = listing;
    for (const start of new Set([startOf(id), startOf(snapshot.replaces ?? id)])) {
      const known = index.get(start);
      if (known === undefined) index.set(start, [listing]);
      else known.push(listing);
    }
  }
  return index;
}

function startOf(id: string): string {
  return id.slice(0, PREFIX_DIGITS_MIN);
}
