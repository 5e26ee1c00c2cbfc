import { SnapshotNotFoundError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath, textOf } from '../util/byte-string.ts';
import type { SnapshotListing } from './read-snapshots.ts';
import type { StateReader } from './state-reader.ts';
import { onlyEntry, readTree } from './tree-walk.ts';
import type { EntrySequence } from './tree-walk.ts';

/** The place that a selector names: a whole directory, or one entry in it. */
export interface SnapshotPlace {
  /** The path of the directory inside the snapshot; empty for the root. */
  readonly directory: ByteString;
  /** The selected entries of the directory. */
  readonly entries: EntrySequence;
}

/**
 * Follows a path inside a snapshot. The path is relative to the root tree, or absolute as on the machine that was
 * backed up. An empty path or `/` is the root tree. The path of a directory selects its contents, the path of a file
 * selects the file. Throws SnapshotNotFoundError if the path does not exist, or if an absolute path is not below the
 * snapshot's base.
 */
export async function findPlace(
  reader: StateReader,
  { id, snapshot }: SnapshotListing,
  path: ByteString,
): Promise<SnapshotPlace> {
  let entries = await readTree(reader, Buffer.from(snapshot.tree, 'hex'));
  let directory = '' as ByteString;
  const names = namesOf(path, snapshot.base);
  for (const [index, name] of names.entries()) {
    const entry = entries.find(name);
    const isLast = index === names.length - 1;
    if (entry === undefined || (entry.treeId === undefined && !isLast)) {
      throw new SnapshotNotFoundError(`${textOf(joinPath(directory, name))} is not in snapshot ${id.slice(0, 8)}`, {
        advice: { code: 'list-files', subject: id },
      });
    }
    if (entry.treeId === undefined) return { directory, entries: onlyEntry(entry) };
    directory = joinPath(directory, name);
    entries = await readTree(reader, entry.treeId);
  }
  return { directory, entries };
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
