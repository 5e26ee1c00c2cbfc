import type { Backend, Verify } from '../../backend/backend.ts';

// A process can be killed between a rename or a removal and the fsync of the directory. Others see the change at once; a
// power cut may undo it, even after something that relies on it has become durable.

/** Returns a step that also waits for another one, which has begun already. */
export function afterBoth(begun: Promise<unknown>, verify: Verify): Verify {
  // It may fail before anything waits for it.
  begun.catch(() => undefined);
  return async () => void (await Promise.all([begun, verify()]));
}

/** Where they are. */
export const SEGMENTS = 'index';

/** Comes before a snapshot, whose chunks an interrupted backup may have stored. Packs are durable before their segment. */
export async function settleSegments(backend: Backend): Promise<void> {
  await backend.settle([SEGMENTS]);
}

/** Comes before a checkpoint, to which they would be lost, and before the delete of manifests that others replace. */
export async function settleSeen(backend: Backend): Promise<void> {
  await backend.settle(['index', 'snapshots']);
}

/**
 * Makes durable what an interrupted delete, undelete or compaction has moved or removed. Comes before a compaction removes
 * anything. Otherwise there could be, after a power cut, a deleted snapshot without its packs, a segment or checkpoint
 * without its packs, or a copy of a manifest without the manifest. Also, a segment that stays may be the only one for a
 * chunk that the removed packs have, too.
 */
export async function settleRemoved(backend: Backend): Promise<void> {
  // After a move, the directory with the new name comes first. That can be either of them.
  await backend.settle(['filter', 'manifests.bak', 'index', 'deleted', 'snapshots', 'deleted']);
}
