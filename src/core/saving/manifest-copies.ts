import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from '../session/context.ts';

/**
 * Records commits, and writes copies of their manifests. A snapshot is valid without them, so a failure only causes a
 * warning.
 * @throws RefusedError if the lock is lost before the record is there: others may not learn of the commit where a listing
 * lags behind, so it must not be reported
 */
export async function copyManifests(
  context: OperationContext,
  repository: Repository,
  manifests: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  await recordCommits(context, repository, [...manifests.keys()]);
  try {
    await repository.order.copyManifests(manifests, async () => repository.assertLocked());
  } catch (error) {
    if (error instanceof RefusedError) warn(context, 'this process has lost its lock');
    else warnUnlessUnknown(context, error);
  }
}

/**
 * Also for snapshots that were brought back: a compaction that died before it reclaimed them has left them out of the
 * commit records.
 * @throws RefusedError as `copyManifests`
 */
export async function recordCommits(
  context: OperationContext,
  repository: Repository,
  snapshotIds: readonly string[],
): Promise<void> {
  if (snapshotIds.length === 0) return;
  await repository.commits.record(snapshotIds).catch((error: unknown) => warnUnlessUnknown(context, error));
}

function warnUnlessUnknown(context: OperationContext, error: unknown): void {
  if (!(error instanceof BackendError)) throw error;
  warn(context, error.message);
}

function warn({ onNotice }: OperationContext, reason: string): void {
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
