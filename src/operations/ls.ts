import type { TreeEntry } from '../format/tree.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { Pacer, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { readSnapshots } from './read-snapshots.ts';
import type { SnapshotListing } from './read-snapshots.ts';
import { assertCountable, parseSelector, selectSnapshot } from './select-snapshots.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { findPlace, readEntries } from './snapshot-path.ts';

export interface ListedEntry {
  /** Inside the snapshot, without a leading slash. */
  readonly path: ByteString;
  readonly entry: TreeEntry;
}

export interface ListFilesOptions {
  /** `ID[:path]`, `latest`, `latest~N`. */
  readonly selector: string;
  readonly filter?: SnapshotFilter;
  readonly recursive: boolean;
}

/** Visits what a snapshot holds, each directory before what is in it, in byte order; `onSnapshot` comes before. */
export async function listFiles(
  context: OperationContext,
  options: ListFilesOptions,
  visit: (listed: ListedEntry) => void,
  onSnapshot: (listing: SnapshotListing) => void = () => undefined,
): Promise<SnapshotListing> {
  return await withRepository(context, 'read', async (repository) => {
    const { name, path } = parseSelector(options.selector);
    const { filter } = options;
    const listing = selectSnapshot(context, await readSnapshots(repository.backend), name, { filter });
    const { reader, lostSnapshots } = await repository.openState();
    assertCountable([name], lostSnapshots);
    const pacer = new Pacer(context.signal);
    const place = await findPlace(reader, listing, path);
    onSnapshot(listing);
    const stack = [{ directory: place.directory, entries: place.entries.toReversed() }];
    while (stack.length > 0) {
      const { directory, entries } = stack.at(-1)!;
      const entry = entries.pop();
      if (entry === undefined) {
        stack.pop();
        continue;
      }
      const entryPath = joinPath(directory, entry.name);
      visit({ path: entryPath, entry });
      if (entry.treeId !== undefined && options.recursive) {
        stack.push({ directory: entryPath, entries: (await readEntries(reader, entry.treeId)).toReversed() });
      }
      await pacer.pause();
    }
    return listing;
  });
}
