import { LdmError } from '../../errors.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { OperationContext } from '../context.ts';

/**
 * Writes the copies that lack: of the snapshot that was just committed, and of those whose backup died right after its
 * commit. The snapshot stands without its copy: failing to write it is worth a warning, not more.
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
    if (!(error instanceof LdmError)) throw error;
    context.onNotice?.({
      kind: 'warning',
      message: `the manifest could not be copied (${error.message}); the next backup tries again`,
    });
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
