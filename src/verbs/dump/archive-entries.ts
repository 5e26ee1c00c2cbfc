import { CorruptDataError } from '../../core/errors.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath, textOf } from '../../core/util/byte-string.ts';
import type { SnapshotReader } from '../../core/snapshots/open-snapshot.ts';

/** An entry of a snapshot with its path in an archive. */
export interface ArchiveEntry {
  /** Relative to the selected directory. */
  readonly path: ByteString;
  readonly entry: TreeEntry;
}

/** Adds the path to an error about damaged data; an empty path is the selected directory, whose error names no path. */
export async function naming<T>(path: ByteString, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CorruptDataError) || path === '') throw error;
    const { message, advice, hint } = error;
    throw new CorruptDataError(`cannot read ${textOf(path)}: ${message}`, { advice, hint, cause: error });
  }
}

/** Yields everything below a directory in byte order, each directory before its contents. */
export async function* entriesBelow(
  snapshot: Pick<SnapshotReader, 'entries'>,
  top: TreeEntry,
): AsyncGenerator<ArchiveEntry> {
  const open = [{ entries: snapshot.entries(top), path: '' as ByteString }];
  for (let current = open.at(-1); current !== undefined; current = open.at(-1)) {
    const { entries, path: directory } = current;
    const next = await naming(directory, async () => entries.next());
    if (next.done === true) {
      open.pop();
      continue;
    }
    const entry = next.value;
    const path = joinPath(current.path, entry.name);
    yield { path, entry };
    if (entry.type === 'directory') open.push({ entries: snapshot.entries(entry), path });
  }
}
