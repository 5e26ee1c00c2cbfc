import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { formatZonedTime } from '../../core/util/format-time.ts';

/** A directory of a mount that is in no snapshot, and what is in it by its name. */
export interface SnapshotDirectory {
  readonly kind: 'directory';
  readonly entries: ReadonlyMap<ByteString, NamedSnapshot>;
}

/** What a name in such a directory stands for. */
export type NamedSnapshot =
  | SnapshotDirectory
  | { readonly kind: 'snapshot'; readonly listing: SnapshotListing }
  | { readonly kind: 'link'; readonly target: ByteString };

const ID_DIGITS_MIN = 8;
const NAME_BYTES_MAX = 255;
const LATEST = byteStringFromText('latest');
const SNAPSHOTS = byteStringFromText('snapshots');

/**
 * Names snapshots as restic does in its mounts: in `ids` by the first digits of their ids, in `snapshots`,
 * `hosts/<host>` and `tags/<tag>` by their times; there, `latest` is a link to the newest one. `listings` are sorted by
 * time.
 */
export function nameSnapshots(listings: readonly SnapshotListing[]): SnapshotDirectory {
  const hosts = groupBy(listings, ({ snapshot }) => [snapshot.hostname]);
  const tags = groupBy(listings, ({ snapshot }) => snapshot.tags);
  const entries = new Map<ByteString, NamedSnapshot>([
    [byteStringFromText('hosts'), directoryOf([...hosts].map(([name, group]) => [name, byTime(group)]))],
    [byteStringFromText('ids'), directoryOf(byId(listings))],
    [SNAPSHOTS, byTime(listings)],
    [byteStringFromText('tags'), directoryOf([...tags].map(([name, group]) => [name, byTime(group)]))],
  ]);
  if (listings.length > 0) entries.set(LATEST, { kind: 'link', target: `${SNAPSHOTS}/${LATEST}` as ByteString });
  return { kind: 'directory', entries };
}

function directoryOf(entries: readonly (readonly [ByteString, NamedSnapshot])[]): SnapshotDirectory {
  return { kind: 'directory', entries: new Map(entries) };
}

function groupBy(
  listings: readonly SnapshotListing[],
  namesOf: (listing: SnapshotListing) => readonly string[],
): Map<ByteString, SnapshotListing[]> {
  const groups = new Map<ByteString, SnapshotListing[]>();
  for (const listing of listings) {
    for (const name of new Set(namesOf(listing).map(fileNameOf))) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [listing]);
      else group.push(listing);
    }
  }
  return groups;
}

/** Host names and tags may have characters that file names cannot have. */
function fileNameOf(text: string): ByteString {
  const name = byteStringFromText(text).replaceAll(/[/\0]/g, '_').slice(0, NAME_BYTES_MAX);
  return (/^\.{0,2}$/.test(name) ? `_${name}` : name) as ByteString;
}

/** Snapshots of the same second get a number after the time: all but the first one. */
function byTime(listings: readonly SnapshotListing[]): SnapshotDirectory {
  const entries = new Map<ByteString, NamedSnapshot>();
  const counts = new Map<string, number>();
  for (const listing of listings) {
    const time = formatZonedTime(listing.snapshot.time);
    const number = counts.get(time) ?? 0;
    counts.set(time, number + 1);
    entries.set((number === 0 ? time : `${time}-${number}`) as ByteString, { kind: 'snapshot', listing });
  }
  const newest = [...entries.keys()].at(-1);
  if (newest !== undefined) entries.set(LATEST, { kind: 'link', target: newest });
  return { kind: 'directory', entries };
}

/** By as many digits as tell the ids apart, and at least as many as other commands show. */
function byId(listings: readonly SnapshotListing[]): [ByteString, NamedSnapshot][] {
  const sorted = listings.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const common = (a: string, b: string | undefined): number => {
    if (b === undefined) return 0;
    let length = 0;
    while (length < a.length && a[length] === b[length]) length += 1;
    return length;
  };
  return sorted.map((listing, index) => {
    const { id } = listing;
    const shared = Math.max(common(id, sorted[index - 1]?.id), common(id, sorted[index + 1]?.id));
    return [id.slice(0, Math.max(ID_DIGITS_MIN, shared + 1)) as ByteString, { kind: 'snapshot', listing }];
  });
}
