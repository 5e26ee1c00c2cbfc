import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryChunkSaver } from './backup/repository-chunk-saver.ts';
import type { OperationContext } from './context.ts';

/** Write a checkpoint if more than one chunk in this many has changed since the last one, ... */
const CHANGED_PART = 10;
/** ... or if opening the repository has to read this many manifests. */
const SNAPSHOTS_MAX = 16;

/**
 * Writes a checkpoint after commits if enough has changed since the last one. It is only a cache, so a failure only
 * causes a warning. `opened` is the state before the commits; the call changes it.
 */
export async function refreshCheckpoint(
  { context, repository, opened }: { context: OperationContext; repository: Repository; opened: OpenedState },
  chunks: RepositoryChunkSaver,
  snapshotCount = 1,
): Promise<void> {
  const { filter } = opened.state;
  const storedCount = chunks.counts.dataBlobs + chunks.counts.treeBlobs;
  const changedCount = opened.foldedCount + storedCount + snapshotCount;
  const knownCount = filter.liveCount + filter.deadCount + storedCount;
  const isWorthIt =
    changedCount * CHANGED_PART > knownCount || opened.foldedSnapshotCount + snapshotCount >= SNAPSHOTS_MAX;
  if (!isWorthIt) return;
  try {
    const from = canContinue(opened) ? opened : undefined;
    const { state, damage } = await repository.openState({ from, buffers: chunks.takeBuffers() });
    if (!damage.isWhole) return;
    await repository.writeCheckpoint(state);
  } catch (error) {
    // The snapshot is saved, so a lost lock must not look like a failed backup.
    if (!(error instanceof BackendError || error instanceof RefusedError)) throw error;
    context.onNotice?.({ kind: 'checkpoint-not-written', reason: error.message });
  }
}

/** A state that lacks something may be whole by now, or be whole in an older checkpoint. */
function canContinue({ needsCondemned, damage }: OpenedState): boolean {
  return damage.isWhole && !needsCondemned && damage.lostSegments.length === 0;
}
