import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from './context.ts';

/** A checkpoint is worth writing when what has to be folded on top of the last one is more than this part of it ... */
const CHANGED_PART = 10;
/** ... or when opening has to read this many manifests. */
const SNAPSHOTS_MAX = 16;

/**
 * Writes a checkpoint after a commit if enough has changed since the last one. It is only a cache: failing to write it
 * is worth a warning, not more.
 */
export async function refreshCheckpoint(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  addedCount: number,
): Promise<void> {
  const { filter } = opened.state;
  const changedCount = opened.foldedCount + addedCount;
  const knownCount = filter.liveCount + filter.deadCount;
  const isWorthIt = changedCount * CHANGED_PART > knownCount || opened.foldedSnapshotCount + 1 >= SNAPSHOTS_MAX;
  if (!isWorthIt) return;
  try {
    const { state, damagedSegments, damagedSnapshots } = await repository.openState();
    if (!state.isComplete || damagedSegments.size > 0 || damagedSnapshots.size > 0) return;
    await repository.writeCheckpoint(state);
  } catch (error) {
    // The snapshot is saved; a lost lock is no reason to report a failure.
    if (!(error instanceof BackendError || error instanceof RefusedError)) throw error;
    context.onNotice?.({
      kind: 'warning',
      message: `the filter image could not be saved, so the next command takes longer to start: ${error.message}`,
    });
  }
}
