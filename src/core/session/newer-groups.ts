import { RefusedError } from '../errors.ts';
import type { NewerState } from '../repository/groups/newer-copies.ts';
import type { PlacedPacks } from '../repository/groups/place-packs.ts';

/**
 * What a machine remembers is not all that shows an older state: the copies in groups may be newer than the place of the
 * repository. Any command that could remove something there, or the packs that these snapshots need, must not go on.
 * @throws RefusedError
 */
export async function assertNotOlderThanGroups({ groups }: Pick<PlacedPacks, 'groups'>): Promise<void> {
  const found = [...((await groups?.newerStates()) ?? [])];
  const newer = found.filter(([, { snapshotIds, epoch }]) => snapshotIds.length > 0 || epoch !== undefined);
  if (newer.length > 0) {
    throw new RefusedError(
      `the repository is older than the copies of it in ${namesOf(newer)}, which have ${describeNewer(newer)}; nothing was removed`,
      { advice: { code: 'recover-or-accept-older-state' } },
    );
  }
  const [reason] = found.flatMap(([, { unknown }]) => unknown ?? []);
  if (reason === undefined) return;
  throw new RefusedError(
    `the copies of the repository in ${namesOf(found)} may be newer than the repository, but cannot be read (${reason}); nothing was removed`,
    { advice: { code: 'read-copies-or-accept-older-state' } },
  );
}

function namesOf(groups: readonly (readonly [string, unknown])[]): string {
  return `${groups.length === 1 ? 'the group' : 'the groups'} ${groups.map(([name]) => name).join(', ')}`;
}

function describeNewer(groups: readonly (readonly [string, NewerState])[]): string {
  const ids = new Set(groups.flatMap(([, { snapshotIds }]) => snapshotIds));
  const epochs = groups.flatMap(([, { epoch }]) => epoch ?? []);
  const snapshots = ids.size === 0 ? [] : `${ids.size === 1 ? 'a snapshot' : `${ids.size} snapshots`} that it lacks`;
  const key = epochs.length === 0 ? [] : `a newer master key (epoch ${Math.max(...epochs)})`;
  return [snapshots, key].flat().join(' and ');
}
