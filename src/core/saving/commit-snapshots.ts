import type { DurableOrder } from '../repository/durable-order.ts';
import type { NamedDomain } from '../format/snapshot-marks.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { needing } from '../repository/needed-files.ts';
import type { NeededFiles } from '../repository/needed-files.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { bothOf } from '../util/map-concurrently.ts';
import { copyManifests } from './manifest-copies.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';
import type { Caller } from '../session/caller.ts';
import { extension } from '../session/extension.ts';
import { isSnapshotWhole } from '../snapshots/live-walk.ts';

type Manifests = Parameters<DurableOrder['commitSnapshots']>[0];

/**
 * Commits snapshots whose chunks are durable, and then writes the copies of their manifests and of others that have
 * none. Returns the ids and manifests of the snapshots.
 */
export async function commitSnapshots(
  { context, repository }: { readonly context: Caller; readonly repository: Repository },
  chunks: RepositoryChunkSaver,
  manifests: Manifests,
  withoutCopy: ReadonlyMap<string, Uint8Array>,
): ReturnType<DurableOrder['commitSnapshots']> {
  let arePresent = false;
  const look = async (): Promise<void> => {
    // After the packs were found, the lock alone counts: while it exists, none is removed. A store of objects takes a
    // request for each pack: a backup that relies on 10,000 of them makes these requests once, not twice. Where no file can
    // be replaced on a condition, a heartbeat that was suspended can put a removed lock back, so it proves nothing.
    await (arePresent ? repository.assertLocked() : chunks.assertLockedAndPresent());
    arePresent = repository.config.isSingleWriter !== true;
    // The segment needs no other answers than this one, so both were asked for at once. The lock is the last to be verified.
    if (chunks.indexing !== undefined) await bothOf(chunks.indexing, repository.assertLocked());
  };
  const files = (): NeededFiles | undefined => {
    const needed = chunks.needs();
    const onMet = (): void => {
      needed?.onMet?.();
      arePresent = true;
    };
    return needed && (arePresent ? { sizes: new Map() } : { ...needed, onMet });
  };
  const verify = needing(repository.assertLocked, look, files);
  // Without the lock, others may have deleted the snapshot, brought it back and reported that. But better no snapshot
  // than one that may vanish in a power cut.
  const mayStay = async (id: string, isDurable: boolean): Promise<boolean> =>
    isDurable && (await repository.isLockLost()) && (await isSnapshotWhole(repository, id));
  // Needed right after the commit. It says then why it has failed.
  repository.commits.findLast().catch(() => undefined);
  const committed = await repository.order.commitSnapshots(manifests, verify, mayStay);
  // The copy of a manifest that only an old listing has would make a reclaimed snapshot look lost.
  const existing = await repository.files.existingSnapshots([...withoutCopy.keys()]);
  const left = [...withoutCopy].filter(([id]) => existing.has(id));
  const copies = new Map([...left, ...committed.map(({ id, bytes }) => [id, bytes] as const)]);
  await copyManifests(context, repository, copies);
  return committed;
}

/**
 * Returns manifests with the domains on which their snapshots rely, whatever is stored or was there before. For
 * commands that do not look at every chunk of a snapshot. All chunks must be durable and indexed.
 */
export async function withLenders<T extends Pick<Snapshot, 'tree' | 'reliesOn'>>(
  repository: Repository,
  opened: OpenedState,
  manifests: readonly T[],
): Promise<readonly T[]> {
  let isBorrowing = false;
  opened.state.packs.forEach((pack) => (isBorrowing ||= pack.isBorrowed));
  if (!isBorrowing) return manifests;
  return await extension().markLenders(repository, manifests);
}

/** The domains on which a new snapshot relies. `known`: those of which this command has borrowed. */
export async function lendersOf(
  repository: Repository,
  { borrowedPacks }: Pick<RepositoryChunkSaver, 'borrowedPacks'>,
  known: readonly NamedDomain[] = [],
): Promise<readonly NamedDomain[]> {
  if (borrowedPacks.length === 0) return known;
  return await extension().lendersOfPacks(repository, borrowedPacks, known);
}
