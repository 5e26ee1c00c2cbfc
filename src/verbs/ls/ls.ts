import type { ListedEntry } from '../../core/snapshots/snapshot-reader.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { assertCountable, parseSelector, selectSnapshot } from '../../core/snapshots/select-snapshots.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';
import { findPlace } from '../../core/repository/snapshot-path.ts';
import { TreeWalk } from '../../core/repository/tree-walk.ts';

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
  assertArguments<ListFilesOptions>(context, options, { selector: 'path!', filter: FILTER_KINDS, recursive: 'flag' });
  assertArgument('visit', visit, 'call!');
  assertArgument('onSnapshot', onSnapshot, 'call!');
  return await withRepository(context, 'read', async (repository) => {
    const { name, path: pathInside } = parseSelector(options.selector);
    const { filter } = options;
    const listed = await repository.files.listForReading();
    const snapshots = await repository.files.readSnapshots({ listing: listed });
    const listing = selectSnapshot(context, snapshots, name, { filter });
    const { reader, damage } = await repository.openState({ listing: listed });
    assertCountable([name], damage.lostSnapshots);
    const pacer = new Pacer(context);
    const place = await findPlace(reader, listing, pathInside);
    onSnapshot(listing);
    let directory: PathNode = { parent: undefined, name: place.directory };
    // Only the path of the current directory is kept as a string: all paths of a deep tree would fill the memory.
    let directoryPath = place.directory;
    const walk = new TreeWalk(reader, place, directory);
    for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
      if (step.kind === 'unreadable') throw step.error;
      if (step.kind === 'leave') continue;
      if (step.parent !== directory) [directory, directoryPath] = [step.parent!, pathOf(step.parent!)];
      const path = joinPath(directoryPath, step.name);
      visit({ path, entry: step.entry });
      if (step.kind === 'enter' && !options.recursive) walk.skip();
      else if (step.kind === 'enter') [directory, directoryPath] = [step, path];
      await pacer.pause();
    }
    return listing;
  });
}
