import type { SnapshotPlace } from './tree-walk.ts';
import { SnapshotNotFoundError } from '../errors.ts';
import type { TreeEntry, TreeReader } from '../format/tree/tree.ts';
import { bareDirectory } from '../format/tree/tree-entry.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath, textOf } from '../util/byte-string.ts';
import type { SnapshotListing } from './read-snapshots.ts';
import type { StateReader } from './state-reader.ts';
import { onlyEntry, readTree } from './tree-walk.ts';

/**
 * Follows a path inside a snapshot. The path is relative to the root tree, or absolute as on the machine that was
 * backed up. An empty path or `/` is the root tree. The path of a directory selects its contents, the path of a file
 * selects the file. Throws SnapshotNotFoundError if the path does not exist, or if an absolute path is not below the
 * snapshot's base.
 */
export async function findPlace(
  reader: StateReader,
  listing: SnapshotListing,
  path: ByteString,
): Promise<SnapshotPlace> {
  const { directory, entry, parents } = await findEntry(async (treeId) => readTree(reader, treeId), listing, path);
  if (entry.treeId === undefined)
    return { directory, directoryEntry: undefined, parents, entries: onlyEntry(entry), isWholeDirectory: false };
  const entries = await readTree(reader, entry.treeId);
  const directoryEntry = entry.name === '' ? undefined : entry;
  return { directory: joinPath(directory, entry.name), directoryEntry, parents, entries, isWholeDirectory: true };
}

/** An entry, and the path of its directory inside the snapshot: empty for the root tree, and in it. */
interface FoundEntry {
  readonly directory: ByteString;
  readonly entry: TreeEntry;
  /** The entries of the directories that contain it, outermost first, without the root tree. */
  readonly parents: readonly TreeEntry[];
}

/** Opens a tree to find entries in it. */
type OpenTree = (treeId: Uint8Array) => Promise<Pick<TreeReader, 'find'>>;

/** Finds one entry of a snapshot. Of the root tree only the id is known; its name is empty. Throws as `findPlace`. */
export async function findEntry(
  openTree: OpenTree,
  { id, snapshot }: SnapshotListing,
  path: ByteString,
): Promise<FoundEntry> {
  let directory = '' as ByteString;
  const parents: TreeEntry[] = [];
  let entry: TreeEntry = bareDirectory('' as ByteString, Buffer.from(snapshot.tree, 'hex'));
  for (const name of namesOf(path, snapshot.base)) {
    directory = joinPath(directory, entry.name);
    const found = entry.treeId === undefined ? undefined : (await openTree(entry.treeId)).find(name);
    if (found === undefined) {
      const missing = textOf(entry.treeId === undefined ? directory : joinPath(directory, name));
      throw new SnapshotNotFoundError(`${missing} is not in snapshot ${id.slice(0, 8)}`, {
        advice: { code: 'list-files', subject: id },
      });
    }
    if (entry.name !== '') parents.push(entry);
    entry = found.decode();
  }
  return { directory, entry, parents };
}

function namesOf(path: ByteString, base: ByteString): ByteString[] {
  const names = splitPath(path);
  if (!path.startsWith('/') || names.length === 0) return names;
  const baseNames = splitPath(base);
  if (baseNames.every((name, index) => name === names[index])) return names.slice(baseNames.length);
  throw new SnapshotNotFoundError(`${textOf(path)} is not in the snapshot: everything in it is below ${textOf(base)}`, {
    advice: { code: 'give-path-as-listed' },
  });
}

function splitPath(path: ByteString): ByteString[] {
  return path.split('/').filter((name) => name !== '' && name !== '.') as ByteString[];
}
