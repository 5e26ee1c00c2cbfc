import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { ByteString } from '../util/byte-string.ts';

export const GROUP_MEMBERS = ['host', 'paths', 'tags'] as const;
/** What the snapshots of a group have in common. */
export type GroupMember = (typeof GROUP_MEMBERS)[number];

/** Snapshots with the same host, paths or tags, whichever they are grouped by; the others are undefined. */
export interface SnapshotGroup {
  readonly host: string | undefined;
  readonly paths: readonly ByteString[] | undefined;
  readonly tags: readonly string[] | undefined;
  readonly listings: readonly SnapshotListing[];
}

/** Groups snapshots, in the order of the first one of each group. Tags count regardless of their order. */
export function groupSnapshots(listings: readonly SnapshotListing[], groupBy: readonly GroupMember[]): SnapshotGroup[] {
  const groups = new Map<string, SnapshotGroup & { readonly listings: SnapshotListing[] }>();
  for (const listing of listings) {
    const { hostname, paths, tags } = listing.snapshot;
    const common = {
      host: groupBy.includes('host') ? hostname : undefined,
      paths: groupBy.includes('paths') ? paths : undefined,
      tags: groupBy.includes('tags') ? [...new Set(tags)].sort() : undefined,
    };
    const key = JSON.stringify(common);
    const group = groups.get(key) ?? { ...common, listings: [] };
    group.listings.push(listing);
    groups.set(key, group);
  }
  return [...groups.values()];
}
