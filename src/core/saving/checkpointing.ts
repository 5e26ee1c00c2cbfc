import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';
import type { OperationContext } from '../session/context.ts';

/** Write a checkpoint if more than one chunk in this many has changed since the last one, ... */
const CHANGED_PART = 10;
/** ... or if opening the repository has to read this many manifests. */
const SNAPSHOTS_MAX = 16;

/**
 * Writes a checkpoint after commits if enough has changed since the last one. It is only a cache, so a failure only
 * causes a warning. `opened` is the state before the commits; the call changes it, and leaves it to who needs it next.
 */
export async function refreshCheckpoint(
  { context, repository, opened }: { context: OperationContext; repository: Repository; opened: OpenedState },
  chunks: RepositoryChunkSaver,
  snapshotCount = 1,
): Promise<void> {
  leaveState(repository, opened);
  const { filter } = opened.state;
  const storedCount = chunks.counts.dataBlobs + chunks.counts.treeBlobs;
  const changedCount = opened.foldedCount + storedCount + snapshotCount;
  const knownCount = filter.liveCount + filter.deadCount + storedCount;
  const isWorthIt =
    changedCount * CHANGED_PART > knownCount || opened.foldedSnapshotCount + snapshotCount >= SNAPSHOTS_MAX;
  if (!isWorthIt) return;
  try {
    const from = canContinue(opened) ? opened : undefined;
    left.delete(repository);
    const now = await repository.openState({ from, buffers: chunks.takeBuffers() });
    if (!now.damage.isWhole) return;
    leaveState(repository, now);
    await repository.writeCheckpoint(now.state);
  } catch (error) {
    // The snapshot is saved, so a lost lock must not look like a failed backup.
    if (!(error instanceof BackendError || error instanceof RefusedError)) throw error;
    context.onNotice?.({ kind: 'checkpoint-not-written', reason: error.message });
  }
}

const left = new WeakMap<Repository, OpenedState>();

/** Leaves a state that only `openState` has changed to what comes after the operation, so that it need not open it anew. */
export function leaveState(repository: Repository, opened: OpenedState): void {
  if (canContinue(opened)) left.set(repository, opened);
}

/** Returns the state that the operation has left. It has to be brought up to date. */
export function takeLeftState(repository: Repository): OpenedState | undefined {
  const opened = left.get(repository);
  left.delete(repository);
  return opened;
}

/** A state that lacks something may be whole by now, or be whole in an older checkpoint. */
export function canContinue({ needsCondemned, damage }: OpenedState): boolean {
  return damage.isWhole && !needsCondemned && damage.lostSegments.length === 0;
}
