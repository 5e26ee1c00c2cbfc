import { CorruptDataError, isAbsent } from '../errors.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Repository } from '../repository/repository.ts';
import type { Caller } from '../session/caller.ts';
import { isSnapshotWhole } from '../snapshots/live-walk.ts';
import { replaceSnapshots } from '../saving/replace-snapshots.ts';
import { forgetSnapshots } from '../session/repository-memory.ts';
import type { Remembering } from '../session/repository-memory.ts';
import { recordCommits } from '../saving/manifest-copies.ts';

/*
 * Deleted snapshots whose space is kept until a time. Their manifests are in snapshots/, so that nothing that they need
 * is reclaimed, not even by a program that does not know them. See docs/format.md, "Changed snapshots".
 */

/** Deletes snapshots so that they can be brought back until a time (RFC 3339). */
export async function deleteUntil(
  context: Caller & Remembering,
  repository: Repository,
  listings: readonly SnapshotListing[],
  until: string,
): Promise<void> {
  await replaceSnapshots(context, repository, listings, () => ({ deletedUntil: new Date(until).toISOString() }));
}

/**
 * Brings back a snapshot; with its old id if its old manifest still exists. Returns it as it is now. Needs the exclusive
 * lock, as `replaceSnapshots` does.
 */
export async function bringBack(
  context: Caller & Remembering,
  repository: Repository,
  kept: SnapshotListing,
): Promise<SnapshotListing> {
  const old = await moveBack(context, repository, kept.snapshot.replaces ?? '');
  if (old === undefined) {
    const [replaced] = await replaceSnapshots(context, repository, [kept], () => ({ deletedUntil: undefined }));
    return replaced!.new;
  }
  await deleteForGood(context, repository, [kept.id]);
  return old;
}

/** Returns undefined if the old manifest has been reclaimed or cannot be read: it is not needed. */
async function moveBack(caller: Caller, repository: Repository, id: string): Promise<SnapshotListing | undefined> {
  try {
    const { snapshot } = await repository.files.readManifest(id, { deleted: true });
    await repository.order.undoDelete([id], repository.assertLocked, async () => isSnapshotWhole(repository, id));
    await recordCommits(caller, repository, [id]);
    return { id, snapshot };
  } catch (error) {
    if (isAbsent(error) || error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** Deletes those whose time has passed. Only under the exclusive lock, which the caller holds to reclaim their space. */
export async function deleteExpired(context: Remembering, repository: Repository): Promise<void> {
  const { expired } = await findKeptDeleted(repository);
  if (expired.length > 0) await deleteForGood(context, repository, expired);
}

/** Returns the ids of deleted snapshots whose space is kept: those whose time has passed, and the others. */
export async function findKeptDeleted(
  repository: Repository,
): Promise<{ readonly expired: readonly string[]; readonly held: readonly string[] }> {
  const nowMs = Date.now();
  const { listings } = await repository.files.readSnapshots({ deleted: true });
  const kept = listings.filter(({ snapshot }) => snapshot.deletedUntil !== undefined);
  const isExpired = ({ snapshot }: SnapshotListing): boolean => Date.parse(snapshot.deletedUntil!) <= nowMs;
  const idsOf = (found: readonly SnapshotListing[]): string[] => found.map(({ id }) => id);
  return { expired: idsOf(kept.filter(isExpired)), held: idsOf(kept.filter((each) => !isExpired(each))) };
}

async function deleteForGood(context: Remembering, repository: Repository, ids: readonly string[]): Promise<void> {
  forgetSnapshots(context, repository, ids);
  await repository.order.commitDelete([[...ids]], repository.assertLocked);
  forgetSnapshots(context, repository, ids);
}
