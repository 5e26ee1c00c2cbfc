import { deletedName, snapshotName } from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { readCommitLog } from './commit-log.ts';
import type { Listing } from './listing.ts';

/**
 * Looks by name for the snapshots that were committed and that a listing lacks, as listings may be old. Those of `deleted`
 * are looked for too: they may have been brought back since. `commitNumbers`: of the listed commit records.
 */
export async function completeListing(
  place: FilePlace,
  listing: Listing,
  commitNumbers: readonly number[],
): Promise<Listing> {
  const { backend } = place;
  const commits = await readCommitLog(place, commitNumbers);
  const snapshots = new Set(listing.snapshotIds);
  const deleted = new Set(listing.deletedIds);
  const unlisted = [...new Set([...commits.snapshotIds, ...deleted])].filter((id) => !snapshots.has(id));
  const lostIds: string[] = [];
  const names = unlisted.flatMap((id) => [snapshotName(id), deletedName(id)]);
  const found = unlisted.length === 0 ? new Map<string, number>() : await backend.sizesOf(names);
  for (const id of unlisted) {
    if (found.has(snapshotName(id))) snapshots.add(id);
    else if (found.has(deletedName(id))) deleted.add(id);
    else if (commits.snapshotIds.has(id)) lostIds.push(id);
  }
  return {
    ...listing,
    snapshotIds: [...snapshots],
    deletedIds: [...deleted],
    lastCommit: commits.end,
    lostCommitIds: lostIds,
    commits,
  };
}
