import { randomBytes } from 'node:crypto';
import { encodeSnapshot } from '../format/snapshot.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Repository } from '../repository/repository.ts';
import { copyManifests } from './manifest-copies.ts';
import type { Caller } from '../session/caller.ts';
import { originalIdOf } from '../snapshots/copies-there.ts';
import { isSnapshotWhole } from '../snapshots/live-walk.ts';
import { forgetSnapshots } from '../session/repository-memory.ts';
import type { Remembering } from '../session/repository-memory.ts';

/** A snapshot and the one that takes its place. */
export interface ReplacedSnapshot {
  readonly old: SnapshotListing;
  readonly new: SnapshotListing;
}

/** Returns the changed members of a snapshot, with undefined for members to be removed, or undefined if all stay. */
export type ChangeSnapshot = (snapshot: Snapshot) => SnapshotChange | undefined;
type SnapshotChange = { readonly [Name in keyof Snapshot]?: Snapshot[Name] | undefined };

/**
 * Puts new manifests in the place of those of some snapshots. The trees stay, so nothing else is stored. First the new
 * manifests become durable, then the old ones are deleted: after an interruption in between both exist.
 *
 * Needs the exclusive lock: two processes that change the same snapshot at once would leave two versions of it.
 */
export async function replaceSnapshots(
  context: Caller & Remembering,
  repository: Repository,
  listings: readonly SnapshotListing[],
  change: ChangeSnapshot,
): Promise<ReplacedSnapshot[]> {
  const replaced = listings.flatMap((old) => {
    const changes = change(old.snapshot);
    return changes === undefined ? [] : [{ old, snapshot: changedSnapshot(old, changes) }];
  });
  const stale = listings.flatMap(({ superseded = [] }) => superseded);
  if (replaced.length === 0) {
    if (stale.length > 0) await deleteReplaced(context, repository, stale);
    return [];
  }
  const committed = await repository.order.commitSnapshots(
    replaced.map(
      ({ snapshot }) =>
        () =>
          encodeSnapshot(snapshot),
    ),
    repository.assertLocked,
    async (id, isDurable) => !isDurable || ((await repository.isLockLost()) && (await isSnapshotWhole(repository, id))),
  );
  await copyManifests(context, repository, new Map(committed.map(({ id, bytes }) => [id, bytes])));
  await deleteReplaced(context, repository, [...stale, ...replaced.map(({ old }) => old.id)]);
  return replaced.map(({ old, snapshot }, index) => ({ old, new: { id: committed[index]!.id, snapshot } }));
}

/**
 * Deletes manifests that others have replaced. Also those that an earlier change has left: they are hidden only while the
 * manifest that took their place is there.
 */
export async function deleteReplaced(
  context: Remembering,
  repository: Repository,
  ids: readonly string[],
): Promise<void> {
  forgetSnapshots(context, repository, ids);
  await repository.order.commitDelete([[...ids]], repository.assertLocked, true);
  // Again, since a command that ended in between has seen them.
  forgetSnapshots(context, repository, ids);
}

function changedSnapshot(old: SnapshotListing, changes: SnapshotChange): Snapshot {
  const members = { ...old.snapshot, original: originalIdOf(old), ...changes };
  const present = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as unknown;
  return { ...(present as Snapshot), nonce: randomBytes(16).toString('hex'), replaces: old.id };
}
