import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { Caller } from '../session/caller.ts';

/**
 * Records commits, and writes copies of their manifests. A snapshot is valid without them, so a failure only causes a
 * warning.
 * @throws RefusedError if the lock is lost before the record is there: others may not learn of the commit where a listing
 * lags behind, so it must not be reported
 */
export async function copyManifests(
  caller: Caller,
  repository: Repository,
  manifests: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const recording = recordCommits(caller, repository, [...manifests.keys()]);
  if (!repository.order.isFar) await recording;
  const copying = copyAll(caller, repository, manifests);
  await Promise.allSettled([recording, copying]);
  await recording;
  await copying;
}

async function copyAll(
  caller: Caller,
  { order, assertLocked }: Repository,
  manifests: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  try {
    await order.copyManifests(manifests, assertLocked);
  } catch (error) {
    if (error instanceof RefusedError) warn(caller, 'this process has lost its lock');
    else warnUnlessUnknown(caller, error);
  }
}

/**
 * Also for snapshots that were brought back: a compaction that died before it reclaimed them has left them out of the
 * commit records.
 * @throws RefusedError as `copyManifests`
 */
export async function recordCommits(
  caller: Caller,
  repository: Repository,
  snapshotIds: readonly string[],
): Promise<void> {
  if (snapshotIds.length === 0) return;
  await repository.commits.record(snapshotIds).catch((error: unknown) => warnUnlessUnknown(caller, error));
}

function warnUnlessUnknown(caller: Caller, error: unknown): void {
  if (!(error instanceof BackendError)) throw error;
  warn(caller, error.message);
}

function warn({ onNotice }: Caller, reason: string): void {
  onNotice?.({ kind: 'manifest-copy-not-written', reason });
}

/** Returns the manifests of snapshots that have no copy because their backup died right after the commit. */
export function manifestsWithoutCopy({ listing, state }: OpenedState): Map<string, Uint8Array> {
  const copied = new Set(listing.manifestCopyIds);
  const manifests = new Map<string, Uint8Array>();
  for (const id of listing.snapshotIds) {
    const manifest = state.snapshots.get(id)?.manifest;
    if (manifest !== undefined && !copied.has(id)) manifests.set(id, manifest);
  }
  return manifests;
}
