import { RefusedError } from '../../core/errors.ts';
import { measureRelease } from '../../core/ldm/fold-release.ts';
import { measureSharedRelease } from '../../core/ldm/shared-release.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { estimateFreed, planCompaction } from '../../core/removing/compaction-plan.ts';
import { findKeptDeleted } from '../../core/removing/kept-deleted.ts';
import { findStaying } from '../../core/removing/unindexed-packs.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { chooseForSize } from './size-choice.ts';

/** Why a snapshot is deleted so that the repository fits. */
export interface SizeReason {
  /** What the step frees, stored, after all earlier ones. */
  readonly freedBytes: number;
  /** How many snapshots go in this step: those that share what is freed. */
  readonly snapshotCount: number;
}

/** How the size of the repository is limited. */
export interface SizeLimit {
  readonly limitBytes: number;
  /** The size of all files. */
  readonly beforeBytes: number;
  /** The same after everything dead is reclaimed. A compaction changes a little more: footers, segments, the image. */
  readonly expectedBytes: number;
}

interface LimitGiven {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly limitBytes: number;
  /** What is deleted in any case. */
  readonly removed: readonly SnapshotListing[];
  /** What may be deleted, from the oldest to the newest. */
  readonly candidates: readonly SnapshotListing[];
}

/** Chooses snapshots to be deleted so that the repository fits in a number of bytes. */
export async function limitSize({
  context,
  repository,
  opened,
  limitBytes,
  removed,
  candidates,
}: LimitGiven): Promise<{ readonly reasons: ReadonlyMap<string, SizeReason>; readonly limit: SizeLimit }> {
  const { state, listing, reader } = opened;
  const isCounted = (id: string): boolean => state.snapshots.has(id);
  const ids = candidates.map(({ id }) => id).filter(isCounted);
  const kept = await findKeptDeleted(repository);
  // What was deleted and is still listed needs no room: others must not go for it.
  const existing = await repository.files.existingSnapshots(listing.snapshotIds);
  const gone = listing.snapshotIds.filter((id) => !existing.has(id));
  // The compaction that follows also reclaims deleted snapshots that can no longer be undeleted.
  const given = {
    released: [...removed.map(({ id }) => id), ...kept.expired, ...gone].filter(isCounted),
    candidates: ids,
  };
  const { storedBytes, shared } = await measureSharedRelease(state, given, reader.readTree);
  const { sizeBytes: beforeBytes } = await repository.files.measure();
  const staying = (await findStaying(context, repository, opened))?.packIds;
  const freeableBytes =
    estimateFreed(planCompaction(state, listing, { percent: 0 }, { staying }), listing) + storedBytes;
  const steps = chooseForSize(shared, beforeBytes - freeableBytes - limitBytes);
  if (steps === undefined) {
    const goneBytes = shared.reduce((bytes, part) => bytes + part.storedBytes, storedBytes);
    const going = [...given.released, ...ids];
    const withHeld = await measureRelease(state, [...going, ...kept.held.filter(isCounted)], reader.readTree);
    const leastBytes = beforeBytes - freeableBytes - (goneBytes - storedBytes);
    throw tooSmall(limitBytes, leastBytes, withHeld.storedBytes - goneBytes);
  }
  const reasons = new Map<string, SizeReason>();
  let expectedBytes = beforeBytes - freeableBytes;
  for (const { members, freedBytes } of steps) {
    for (const member of members) reasons.set(ids[member]!, { freedBytes, snapshotCount: members.length });
    expectedBytes -= freedBytes;
  }
  return { reasons, limit: { limitBytes, beforeBytes, expectedBytes } };
}

function tooSmall(limitBytes: number, leastBytes: number, heldBytes: number): RefusedError {
  const held = heldBytes > 0 ? `, of which ${formatBytes(heldBytes)} is kept so that deletes can be undone` : '';
  return new RefusedError(
    `the repository cannot be reduced to ${formatBytes(limitBytes)}: the snapshots that must stay need ${formatBytes(leastBytes)}${held}`,
    { advice: { code: 'check-size-limit' } },
  );
}
