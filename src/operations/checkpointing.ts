import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from './context.ts';

/** Write a checkpoint if more than one chunk in this many has changed since the last one, ... */
const CHANGED_PART = 10;
/** ... or if opening the repository has to read this many manifests. */
const SNAPSHOTS_MAX = 16;

/**
 * Writes a checkpoint after a commit if enough has changed since the last one. It is only a cache, so a failure only
 * causes a warning.
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
    // The snapshot is saved, so a lost lock must not look like a failed backup.
    if (!(error instanceof BackendError || error instanceof RefusedError)) throw error;
    context.onNotice?.({
      kind: 'warning',
      message: `the filter image could not be saved, so the next command takes longer to start: ${error.message}`,
    });
  }
}
