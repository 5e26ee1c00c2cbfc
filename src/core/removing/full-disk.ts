import { isDiskFull } from '../errors.ts';
import { RESERVE_NAME } from '../format/layout.ts';
import type { Listing } from '../repository/listing.ts';
import type { Repository } from '../repository/repository.ts';

/**
 * Removes the reserve and the checkpoints of a full disk. Other machines have seen the number of one of them, and would
 * take that for an older state: a new commit record shows them that it is a newer one. It needs the room of the reserve,
 * or of the checkpoints where there is no reserve.
 */
export async function makeRoom(repository: Repository, listing: Listing): Promise<void> {
  const { order, assertLocked } = repository;
  await order.remove([RESERVE_NAME], assertLocked);
  const images = imagesToGiveUp(listing);
  if (images.length === 0) return;
  const isRecorded = await recordChange(repository, listing);
  await order.remove(images, assertLocked);
  if (!isRecorded) await recordChange(repository, listing);
}

/** Returns false if there is no room. */
async function recordChange({ commits }: Repository, { commits: log }: Listing): Promise<boolean> {
  if (log === undefined || log.end === 0) return true;
  try {
    await commits.merge(log, [...log.snapshotIds]);
    return true;
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    return false;
  }
}

/** If there are no snapshots, the newest checkpoint must remain: nothing else shows that no snapshot is lost. */
function imagesToGiveUp({ snapshotIds, deletedIds, checkpoints }: Listing): readonly string[] {
  return snapshotIds.length + deletedIds.length > 0 ? checkpoints : checkpoints.slice(1);
}

/**
 * Writes a checkpoint if all of them were removed on a full disk, and then the reserve. Without a checkpoint, a
 * repository that has chunks but no snapshots looks as if its snapshots were lost. Returns whether anything was missing.
 */
export async function restoreImageAndReserve(repository: Repository): Promise<boolean> {
  const isWhole = await hasCheckpoint(repository);
  if (!isWhole) {
    const { state } = await repository.openState();
    try {
      if (state.isComplete) await repository.writeCheckpoint(state);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }
  return (await repository.order.keepReserve()) || !isWhole;
}

/** A listing may lack the one that this process has written. */
async function hasCheckpoint({ files, lastCheckpoint }: Repository): Promise<boolean> {
  if (lastCheckpoint !== undefined && (await files.exists(lastCheckpoint))) return true;
  return (await files.list('filter')).length > 0;
}
