import type { TreeEntry } from '../format/tree.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { pathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';
import { Pacer, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import { assertCountable, parseSelector, selectSnapshot } from './select-snapshots.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { findPlace, readTree } from './snapshot-path.ts';
import type { EntrySequence } from './snapshot-path.ts';

export interface ListedEntry {
  /** The path inside the snapshot, without a leading slash. */
  readonly path: ByteString;
  readonly entry: TreeEntry;
}

export interface ListFilesOptions {
  /** `ID[:path]`, `latest`, `latest~N`. */
  readonly selector: PathInput;
  readonly filter?: SnapshotFilter;
  readonly recursive: boolean;
}

/** Visits the entries of a snapshot in byte order, each directory before its contents. Calls `onSnapshot` first. */
export async function listFiles(
  context: OperationContext,
  options: ListFilesOptions,
  visit: (listed: ListedEntry) => void,
  onSnapshot: (listing: SnapshotListing) => void = () => undefined,
): Promise<SnapshotListing> {
  return await withRepository(context, 'read', async (repository) => {
    const { name, path } = parseSelector(options.selector);
    const { filter } = options;
    const listing = selectSnapshot(context, await repository.files.readSnapshots(), name, { filter });
    const { reader, damage } = await repository.openState();
    assertCountable([name], damage.lostSnapshots);
    const pacer = new Pacer(context);
    const place = await findPlace(reader, listing, path);
    onSnapshot(listing);
    const top = { parent: undefined, name: place.directory };
    const stack: OpenTree[] = [{ directory: top, entries: place.entries }];
    // Only the path of the current directory is kept as a string: all paths of a deep tree would fill the memory.
    let current = place.directory;
    while (stack.length > 0) {
      const { directory, entries } = stack.at(-1)!;
      const entry = entries.next();
      if (entry === undefined) {
        stack.pop();
        if (stack.length > 0) current = pathOf(stack.at(-1)!.directory);
        continue;
      }
      const entryPath = joinPath(current, entry.name);
      visit({ path: entryPath, entry });
      if (entry.treeId !== undefined && options.recursive) {
        const inner = { parent: directory, name: entry.name };
        stack.push({ directory: inner, entries: await readTree(reader, entry.treeId) });
        current = entryPath;
      }
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    return listing;
  });
}

interface OpenTree {
  readonly directory: PathNode;
  readonly entries: EntrySequence;
}
