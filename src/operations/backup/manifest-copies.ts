import { BackendError, RefusedError } from '../../errors.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { OperationContext } from '../context.ts';

/**
 * Writes missing copies of manifests: for the new snapshot, and for snapshots whose backup died right after the commit.
 * A snapshot is valid without its copy, so a failure only causes a warning.
 */
export async function copyManifests(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  made: { readonly id: string; readonly bytes: Uint8Array },
): Promise<void> {
  const manifests = new Map([...manifestsWithoutCopy(opened), [made.id, made.bytes]]);
  try {
    await repository.order.copyManifests(manifests, async () => repository.assertLocked());
  } catch (error) {
    const isLockLost = error instanceof RefusedError;
    if (!(isLockLost || error instanceof BackendError)) throw error;
    const reason = isLockLost ? 'this process has lost its lock' : error.message;
    context.onNotice?.({ kind: 'manifest-copy-not-written', reason });
  }
}

function manifestsWithoutCopy({ listing, state }: OpenedState): Map<string, Uint8Array> {
  const copied = new Set(listing.manifestCopyIds);
  const manifests = new Map<string, Uint8Array>();
  for (const id of listing.snapshotIds) {
    const manifest = state.snapshots.get(id)?.manifest;
    if (manifest !== undefined && !copied.has(id)) manifests.set(id, manifest);
  }
  return manifests;
}
