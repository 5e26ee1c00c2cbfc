import { decodeSnapshot } from '../../format/snapshot.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { ByteString } from '../../util/byte-string.ts';

export interface ParentSnapshot {
  readonly id: string;
  readonly snapshot: Snapshot;
}

/** The newest snapshot of the same paths on the same host. */
export function findParent(
  opened: OpenedState,
  hostname: string,
  roots: readonly ByteString[],
): ParentSnapshot | undefined {
  const paths = roots.join('\0');
  const present = new Set(opened.listing.snapshotIds);
  let newest: ParentSnapshot | undefined;
  for (const [id, { manifest }] of opened.state.snapshots) {
    if (!present.has(id)) continue;
    const snapshot = decodeSnapshot(manifest);
    if (snapshot.hostname !== hostname || snapshot.paths.join('\0') !== paths) continue;
    if (newest === undefined || isNewer({ id, snapshot }, newest)) newest = { id, snapshot };
  }
  return newest;
}

/** By time, and by id where two have the same. */
function isNewer(a: ParentSnapshot, b: ParentSnapshot): boolean {
  const difference = Date.parse(a.snapshot.time) - Date.parse(b.snapshot.time);
  return difference > 0 || (difference === 0 && a.id > b.id);
}
