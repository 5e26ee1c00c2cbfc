import { BackendError, RefusedError } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from '../session/context.ts';

/**
 * Writes copies of manifests, and a record of their commits. A snapshot is valid without them, so a failure only causes a
 * warning.
 */
export async function copyManifests(
  context: OperationContext,
  repository: Repository,
  manifests: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  await orWarn(context, async () => {
    await repository.order.copyManifests(manifests, async () => repository.assertLocked());
    if (manifests.size > 0) await repository.commits.record([...manifests.keys()]);
  });
}

/**
 * Records that snapshots were brought back: a compaction that died before it reclaimed them has left them out of the
 * commit records.
 */
export async function recordBroughtBack(
  context: OperationContext,
  repository: Repository,
  snapshotIds: readonly string[],
): Promise<void> {
  if (snapshotIds.length > 0) await orWarn(context, async () => repository.commits.record(snapshotIds));
}

async function orWarn({ onNotice }: OperationContext, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    const isLockLost = error instanceof RefusedError;
    if (!(isLockLost || error instanceof BackendError)) throw error;
    const reason = isLockLost ? 'this process has lost its lock' : error.message;
    onNotice?.({ kind: 'manifest-copy-not-written', reason });
  }
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
