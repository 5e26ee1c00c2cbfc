import { UsageError } from '../../core/errors.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { isWithin, parentOf } from '../../core/files/paths/root-paths.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { findEntry } from '../../core/repository/snapshot-path.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { readTree } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { DirectoryAbove, SnapshotDirectory, singleEntry } from './side.ts';
import type { SideDirectory } from './side.ts';

/** Two things to compare. */
export interface DiffSides {
  readonly before: SideDirectory;
  readonly after: SideDirectory;
  /** Where both are, as a prefix of the paths of the changes; empty if the places differ. */
  readonly base: ByteString;
  /** Set if the new side is on this machine. */
  readonly live: LiveSide | undefined;
}

/** What a comparison with files of this machine needs besides the sides. Nodes start at the directory that is compared. */
interface LiveSide {
  /** Returns where an entry is. */
  readonly pathOf: (node: PathNode) => ByteString;
  /** Returns whether patterns exclude an entry that is not there. */
  readonly excludes: (node: PathNode) => boolean;
  /** Returns the patterns that matched nothing. */
  readonly unmatched: () => readonly string[];
}

/** A place in a snapshot. */
export interface NamedPlace {
  readonly listing: SnapshotListing;
  readonly path: ByteString;
}

/** Compares two snapshots by the absolute paths that were backed up, or two places in snapshots with each other. */
export async function snapshotSides(reader: StateReader, before: NamedPlace, after: NamedPlace): Promise<DiffSides> {
  if (before.path === '' && after.path === '') {
    const base = commonBase(before.listing.snapshot.base, after.listing.snapshot.base);
    const sideOf = ({ listing }: NamedPlace): SideDirectory => rootSeenFrom(reader, listing, base);
    return { before: sideOf(before), after: sideOf(after), base, live: undefined };
  }
  const places = [before, after].map(({ listing, path }) => ({
    listing,
    path: path === '' ? before.path || after.path : path,
  }));
  const [left, right] = [await locate(reader, places[0]!), await locate(reader, places[1]!)];
  if ((left.entry.treeId === undefined) !== (right.entry.treeId === undefined))
    throw new UsageError('a directory can be compared only with a directory, and a file only with a file');
  const isSamePlace = left.path === right.path;
  if (left.entry.treeId !== undefined) {
    const base = isSamePlace ? left.path : ('' as ByteString);
    return {
      before: directoryOf(reader, left.entry),
      after: directoryOf(reader, right.entry),
      base,
      live: undefined,
    };
  }
  const base = isSamePlace ? parentOf(left.path) : ('' as ByteString);
  const renamed = { ...right.entry, name: left.entry.name };
  return { before: singleEntry(left.entry), after: singleEntry(renamed), base, live: undefined };
}

/** Finds a place in a snapshot. `path`: its absolute path. */
export async function locate(
  reader: StateReader,
  { listing, path }: NamedPlace,
): Promise<{ readonly entry: TreeEntry; readonly path: ByteString }> {
  const { directory, entry } = await findEntry(async (treeId) => readTree(reader, treeId), listing, path);
  const inside = joinPath(directory, entry.name);
  const { base } = listing.snapshot;
  return { entry, path: inside === '' ? base : joinPath(base, inside) };
}

export function directoryOf(reader: StateReader, { treeId }: TreeEntry): SideDirectory {
  return new SnapshotDirectory(reader, treeId!);
}

function commonBase(one: ByteString, other: ByteString): ByteString {
  let common = one;
  while (!isWithin(other, common)) common = parentOf(common);
  return common;
}

function rootSeenFrom(reader: StateReader, { snapshot }: SnapshotListing, base: ByteString): SideDirectory {
  let side: SideDirectory = new SnapshotDirectory(reader, Buffer.from(snapshot.tree, 'hex'));
  for (let path = snapshot.base; path !== base; path = parentOf(path)) {
    side = new DirectoryAbove(path.slice(path.lastIndexOf('/') + 1) as ByteString, side);
  }
  return side;
}
