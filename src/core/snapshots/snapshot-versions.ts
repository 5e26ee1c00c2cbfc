import { compareOfSameTime } from '../repository/read-snapshots.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import { originalIdOf } from './copies-there.ts';

/** A snapshot of which several versions may be listed. */
export interface SnapshotVersions {
  readonly newest: SnapshotListing;
  /** Newest first. */
  readonly others: readonly SnapshotListing[];
}

/**
 * Joins snapshots of the same time of which one was made by changing the other, or both by changing the same one. An
 * interrupted rewrite leaves them, an undelete brings them back, and a process that was suspended while it changed a
 * snapshot adds them. Counted on their own, they would make other snapshots go. Returns them in the given order, each at
 * the place of its newest version.
 */
export function joinVersions(listings: readonly SnapshotListing[]): SnapshotVersions[] {
  const names = new JoinedNames();
  for (const listing of listings) {
    const { replaces } = listing.snapshot;
    names.join(nameOf(listing), nameOf(listing, originalIdOf(listing)));
    if (replaces !== undefined) names.join(nameOf(listing), nameOf(listing, replaces));
  }
  const groups = new Map<string, SnapshotListing[]>();
  for (const listing of listings) {
    const first = names.firstOf(nameOf(listing));
    const group = groups.get(first);
    if (group === undefined) groups.set(first, [listing]);
    else group.push(listing);
  }
  const newest = new Map([...groups.values()].map((group) => [newestOf(group), group]));
  return listings.flatMap((listing) => {
    const group = newest.get(listing);
    if (group === undefined) return [];
    const others = group.filter((each) => each !== listing).sort((a, b) => compareOfSameTime(b, a));
    return [{ newest: listing, others }];
  });
}

function nameOf({ id, snapshot }: SnapshotListing, of = id): string {
  return `${snapshot.time} ${of}`;
}

/** Of a chain of changes, the last one, whatever the ids are. */
function newestOf(group: readonly SnapshotListing[]): SnapshotListing {
  const replaced = new Set(group.map(({ snapshot }) => snapshot.replaces));
  const last = group.filter(({ id }) => !replaced.has(id));
  return (last.length === 0 ? group : last).toSorted(compareOfSameTime).at(-1)!;
}

/** Sets of names that are joined step by step. */
class JoinedNames {
  readonly #above = new Map<string, string>();

  join(one: string, other: string): void {
    const [a, b] = [this.firstOf(one), this.firstOf(other)];
    if (a !== b) this.#above.set(a, b);
  }

  /** Returns the same name for all that are joined. */
  firstOf(name: string): string {
    let first = name;
    for (let above = this.#above.get(first); above !== undefined; above = this.#above.get(first)) first = above;
    if (first !== name) this.#above.set(name, first);
    return first;
  }
}
