import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { DEFAULT_TEMPLATES, NAME_BYTES_MAX, fixedNames, parsePathTemplate, pathsOf } from './path-templates.ts';
import type { PathTemplate } from './path-templates.ts';

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
const LATEST = byteStringFromText('latest');
const SNAPSHOTS = byteStringFromText('snapshots');

/** A directory that is being filled. */
interface NewDirectory extends SnapshotDirectory {
  readonly entries: Map<ByteString, NamedSnapshot>;
  /** How many snapshots have wanted a name. */
  readonly counts: Map<ByteString, number>;
  /** The name of the newest snapshot in it that ends with its time. */
  newest: ByteString | undefined;
}

/**
 * Names snapshots by templates, as restic does in its mounts; without templates, as `DEFAULT_TEMPLATES` say. Where a
 * template ends with the time, `latest` is a link to the newest one. `listings` are sorted by time.
 */
export function nameSnapshots(
  listings: readonly SnapshotListing[],
  templates: readonly PathTemplate[] = [],
): SnapshotDirectory {
  const root = newDirectory();
  const isDefault = templates.length === 0;
  const used = isDefault ? DEFAULT_TEMPLATES.map((text) => parsePathTemplate(text)) : templates;
  const shortIds = shortIdsOf(listings);
  for (const template of used) {
    directoryAt(root, fixedNames(template));
    for (const listing of listings) {
      for (const path of pathsOf(template, listing, shortIds.get(listing.id)!)) {
        const directory = directoryAt(root, path.slice(0, -1));
        const name = freeName(directory, path.at(-1)!);
        directory.entries.set(name, { kind: 'snapshot', listing });
        if (template.endsWithTime) directory.newest = name;
      }
    }
  }
  linkLatest(root);
  if (isDefault && listings.length > 0)
    root.entries.set(LATEST, { kind: 'link', target: `${SNAPSHOTS}/${LATEST}` as ByteString });
  return root;
}

function newDirectory(): NewDirectory {
  return { kind: 'directory', entries: new Map(), counts: new Map(), newest: undefined };
}

/** Returns the directory at a path, and makes what is missing. One gets a number if a snapshot has its name. */
function directoryAt(root: NewDirectory, path: readonly ByteString[]): NewDirectory {
  let directory = root;
  for (const wanted of path) {
    let name = wanted;
    for (let number = 1; directory.entries.get(name)?.kind === 'snapshot'; number += 1) name = numbered(wanted, number);
    const found = directory.entries.get(name) ?? newDirectory();
    directory.entries.set(name, found);
    directory = found as NewDirectory;
  }
  return directory;
}

/** Snapshots of the same second get a number after the time: all but the first one. */
function freeName({ entries, counts }: NewDirectory, wanted: ByteString): ByteString {
  let number = counts.get(wanted) ?? 0;
  while (entries.has(numbered(wanted, number))) number += 1;
  counts.set(wanted, number + 1);
  return numbered(wanted, number);
}

function numbered(name: ByteString, number: number): ByteString {
  const end = number === 0 ? '' : `-${number}`;
  return `${name.slice(0, NAME_BYTES_MAX - end.length)}${end}` as ByteString;
}

function linkLatest({ entries, newest }: NewDirectory): void {
  for (const entry of entries.values()) if (entry.kind === 'directory') linkLatest(entry as NewDirectory);
  if (newest !== undefined && !entries.has(LATEST)) entries.set(LATEST, { kind: 'link', target: newest });
}

/** Ids with as many digits as tell them apart, and at least as many as other commands show. */
function shortIdsOf(listings: readonly SnapshotListing[]): Map<string, string> {
  const sorted = listings.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const common = (a: string, b: string | undefined): number => {
    if (b === undefined) return 0;
    let length = 0;
    while (length < a.length && a[length] === b[length]) length += 1;
    return length;
  };
  const shorten = ({ id }: SnapshotListing, index: number): [string, string] => {
    const shared = Math.max(common(id, sorted[index - 1]?.id), common(id, sorted[index + 1]?.id));
    return [id, id.slice(0, Math.max(ID_DIGITS_MIN, shared + 1))];
  };
  return new Map(sorted.map(shorten));
}
