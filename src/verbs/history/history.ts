import { SnapshotNotFoundError } from '../../core/errors.ts';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import { absolutePath } from '../../core/files/paths/root-paths.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { byteStringOf, textOf } from '../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { PathVersions, soughtInside, soughtPath } from '../../core/snapshots/path-versions.ts';
import type { PathVersion, SoughtPath, VersionOptions } from '../../core/snapshots/path-versions.ts';
import { noSnapshots } from '../../core/snapshots/unmatched-filter.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export interface HistoryOptions extends VersionOptions {
  /**
   * A file or directory: an absolute path as on the machine that was backed up, or one that starts at the current
   * directory. If no snapshot has that, a relative path is taken from the root of each snapshot, as `listFiles` gives
   * it.
   */
  readonly path: PathInput;
  readonly filter?: SnapshotFilter | undefined;
}

export interface HistoryResult {
  /** In the order of their snapshots, oldest first. */
  readonly versions: readonly PathVersion[];
  /** The number of snapshots that were made of the path, or of what is around it. */
  readonly snapshotCount: number;
  /** How many trees were read. */
  readonly treesRead: number;
  /** Trees that could not be read; each was reported by a notice. Their snapshots are left out. */
  readonly unreadableTrees: number;
}

/**
 * Returns the versions of a path in the snapshots of each host: a snapshot in which it is as before makes none. Each
 * tree on the way to the path is read once.
 * @throws SnapshotNotFoundError if it is in no snapshot
 */
export async function findHistory(context: OperationContext, options: HistoryOptions): Promise<HistoryResult> {
  assertArguments<HistoryOptions>(context, options, { path: 'path!', filter: FILTER_KINDS, metadata: 'flag' });
  return await withRepository(context, 'read', async (repository) => {
    const found = await repository.files.readSnapshots();
    for (const [snapshotId, reason] of [...found.copied, ...found.damaged])
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    const listings = found.listings.filter(({ snapshot }) => matchesFilter(snapshot, options.filter ?? {}));
    if (listings.length === 0 && found.listings.length > 0) throw noSnapshots(found.listings, options.filter ?? {});
    const { reader } = await repository.openState();
    beginPhase(context.progress, 'searching');
    for (const sought of pathsToSeek(byteStringOf(options.path))) {
      const search = new PathVersions(context, reader, sought, options);
      const versions = await inOrder(search, listings);
      const { snapshotCount, treesRead, unreadableTrees } = search;
      if (versions.length > 0 || unreadableTrees > 0) return { versions, snapshotCount, treesRead, unreadableTrees };
    }
    throw new SnapshotNotFoundError(`no snapshot contains ${textOf(byteStringOf(options.path))}`, {
      advice: { code: 'find-by-name' },
    });
  });
}

function pathsToSeek(path: ByteString): SoughtPath[] {
  if (path.startsWith('/')) return [soughtPath(path)];
  return [soughtPath(absolutePath(path, currentDirectory())), soughtInside(path)];
}

async function inOrder(search: PathVersions, listings: readonly SnapshotListing[]): Promise<PathVersion[]> {
  const versions: PathVersion[] = [];
  for await (const version of search.among(listings)) versions.push(version);
  const numbers = new Map(listings.map(({ id }, index) => [id, index]));
  return versions.sort((a, b) => numbers.get(a.listing.id)! - numbers.get(b.listing.id)!);
}
