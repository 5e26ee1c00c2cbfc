import { BackendError, RefusedError } from '../errors.ts';
import { isAsNewAs } from '../format/checkpoint-name.ts';
import { segmentName, snapshotName } from '../format/layout.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';
import { bothOf } from '../util/map-concurrently.ts';
import type { Caller } from '../session/caller.ts';

/** Write a checkpoint if more than one chunk in this many has changed since the last one, ... */
const CHANGED_PART = 10;
/** ... or if opening the repository has to read this many manifests. */
const SNAPSHOTS_MAX = 16;

/**
 * Writes a checkpoint after commits if enough has changed since the last one. It is only a cache, so a failure only
 * causes a warning. `opened` is the state before the commits; the call changes it, and keeps it for later work.
 */
export async function refreshCheckpoint(
  { context, repository, opened }: { context: Caller; repository: Repository; opened: OpenedState },
  chunks: RepositoryChunkSaver,
  snapshotCount = 1,
): Promise<void> {
  keepState(repository, opened);
  const { filter } = opened.state;
  const storedCount = chunks.counts.dataBlobs + chunks.counts.treeBlobs;
  const changedCount = opened.foldedCount + storedCount + snapshotCount;
  const knownCount = filter.liveCount + filter.deadCount + storedCount;
  const isWorthIt =
    changedCount * CHANGED_PART > knownCount || opened.foldedSnapshotCount + snapshotCount >= SNAPSHOTS_MAX;
  if (!isWorthIt) return;
  try {
    const from = canContinue(opened) ? opened : undefined;
    repository.keptState = undefined;
    const listsPacks = opened.listing.arePacksListed;
    const now = await repository.openState({ from, buffers: chunks.takeBuffers(), listsPacks });
    if (!now.damage.isWhole) return;
    const asking = hasInvented(repository, now);
    // It may fail while the checkpoint is staged, before anything waits for it.
    asking.catch(() => undefined);
    const [written] = await Promise.allSettled([writeUnless(asking, repository, now)]);
    if (await asking) return;
    keepState(repository, now);
    if (written.status === 'rejected') throw written.reason;
  } catch (error) {
    // The snapshot is saved, so a lost lock must not look like a failed backup.
    if (!(error instanceof BackendError || error instanceof RefusedError)) throw error;
    context.onNotice?.({ kind: 'checkpoint-not-written', reason: error.message });
  }
}

/** Writes a checkpoint, which gets its name only if the answer is no. */
async function writeUnless(asking: Promise<boolean>, repository: Repository, opened: OpenedState): Promise<void> {
  const { state, listing } = opened;
  const verify = async (): Promise<void> => {
    const [isInvented] = await bothOf(asking, repository.assertLocked());
    if (isInvented) throw new RefusedError('the checkpoint would have what does not exist');
  };
  await repository.writeCheckpoint(state, { listed: listing.checkpoints, verify });
}

/**
 * Returns whether a state has something that does not exist: a listing of another machine may still have what was removed,
 * and a cache its bytes. A checkpoint with it would call it lost for ever. What a checkpoint has exists if that does, unless
 * a compaction has left it, because its listing lacked it.
 */
async function hasInvented(
  { order, files, commits }: Repository,
  { state, checkpoint = '', addedNames }: OpenedState,
): Promise<boolean> {
  if (!order.isFar) return false;
  const { start } = await commits.findLast();
  const all = [
    ...[...state.segments].map((id) => segmentName(id)),
    ...[...state.snapshots.keys()].map((id) => snapshotName(id)),
  ];
  // Others may have deleted some of what was added, which is not in the state then.
  const added = new Set(addedNames);
  const isSure = checkpoint !== '' && isAsNewAs(checkpoint, start);
  const names = isSure ? [checkpoint, ...all.filter((name) => added.has(name))] : all;
  return (await files.whichExist(names)).size < names.length;
}

/** Keeps an unmodified opened state for later work in the same command, to avoid opening the repository again. */
export function keepState(repository: Repository, opened: OpenedState): void {
  if (canContinue(opened)) repository.keptState = opened;
}

/** Returns the kept state, once. It has to be brought up to date. */
export function takeState(repository: Repository): OpenedState | undefined {
  const opened = repository.keptState;
  repository.keptState = undefined;
  return opened;
}

/** A state that lacks something may be whole by now, or be whole in an older checkpoint. */
export function canContinue({ needsCondemned, damage }: OpenedState): boolean {
  return damage.isWhole && !needsCondemned && damage.lostSegments.length === 0;
}
