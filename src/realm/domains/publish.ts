import { CancelledError, LdmError, RefusedError } from '../../core/errors.ts';
import type { PublishedState } from '../formats/domain-records.ts';
import { countersWithout } from '../../core/ldm/counters-without.ts';
import type { PartOfCounters } from '../../core/ldm/counters-without.ts';
import { countFlips, planeOf } from '../../core/ldm/plane.ts';
import { planPublication } from '../planes/plane-publisher.ts';
import type { OwnPlane, Publication as PlannedPublication } from '../planes/plane-publisher.ts';
import { snapshotsDigest } from '../planes/range-names.ts';
import { PlaneTracker } from '../planes/plane-tracker.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { readMembership } from './membership-file.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { canContinue, takeState } from '../../core/saving/checkpointing.ts';
import type { Caller } from '../../core/session/caller.ts';
import { borrowedPacksOf } from '../lending/borrowed-packs.ts';
import { NotOriginalError, assertKnown } from './own-place.ts';
import { planeFilesOf } from './plane-files-of.ts';
import type { OwnPlaneFiles } from './plane-files-of.ts';
import { withRealm } from './realm.ts';
import type { OpenRealm } from './realm.ts';

/** What was published. */
export interface Publication {
  readonly state: PublishedState;
  /** Bytes of the new file; 0 if nothing had to be written. */
  readonly bytes: number;
}

/** Other processes of this domain publish as well. */
const ATTEMPTS = 10;

/** Publishes what has changed, if the repository is a member of a realm. A failure is a notice: what was done is done. */
export async function publishChanges({ onNotice }: Caller, repository: Repository): Promise<void> {
  try {
    if ((await readMembership(repository)) === undefined) return;
    await withRealm(repository, async (realm) => {
      // Its planes would be useless, and no message would say so.
      await assertKnown(realm);
      await publishPlane(repository, realm);
    });
  } catch (error) {
    if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
    const mustJoin = error instanceof NotOriginalError;
    onNotice?.({ kind: 'plane-not-published', reason: error.message, mustJoin });
  }
}

/**
 * Publishes the plane of this domain's filter as it is now: the file first, then the record that names it.
 *
 * The record is read before the repository is, and written only if it is still the same. So the process that succeeds has
 * seen at least what the previous record described: a plane never loses chunks to a slower process.
 * @throws RefusedError if the repository is damaged: chunks that cannot be counted would seem to be absent
 * @throws CoordinatorError
 */
export async function publishPlane(repository: Repository, realm: OpenRealm): Promise<Publication> {
  const { records, domainId } = realm;
  const files = planeFilesOf(realm, repository);
  // Each attempt brings the state of the last one up to date. At 10^7 chunks, opening it again takes seconds.
  let from = takeState(repository);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const record = await records.stateToReplace(domainId);
    const opened: OpenedState = await repository.openState({ from });
    from = canContinue(opened) ? opened : undefined;
    const own = ownPlane(opened);
    const planned = await planPublication(domainId, own, { state: record?.value, files });
    const snapshots = snapshotsDigest(opened.listing.snapshotIds);
    const state = { ...(planned?.state ?? record!.value!), snapshots };
    if (planned === undefined && record?.value?.snapshots === snapshots) return { state, bytes: 0 };
    if (planned !== undefined && !(await write(files, planned))) continue;
    if (!(await records.writeState(domainId, state, record?.version))) continue;
    for (const name of planned?.obsolete ?? []) await files.remove(name);
    return { state, bytes: planned?.file?.bytes.length ?? 0 };
  }
  throw new RefusedError('other processes of this domain publish all the time', { hint: 'Try again.' });
}

/** How many positions have changed since the last publication; all of them if it cannot be read. */
export async function unpublishedFlips(repository: Repository, realm: OpenRealm): Promise<number> {
  const own = ownPlane(await repository.openState());
  const published = (await realm.records.stateToReplace(realm.domainId))?.value;
  if (published === undefined) return own.positions;
  const tracker = new PlaneTracker(realm.domainId, planeFilesOf(realm, repository));
  await tracker.update(published);
  const { plane, isCurrent } = tracker;
  const isComparable = isCurrent && plane?.positions === own.positions && plane.hashes === own.hashes;
  return isComparable ? countFlips(plane.plane, own.plane) : own.positions;
}

function ownPlane({ state }: OpenedState): OwnPlane {
  if (!state.isComplete) {
    throw new RefusedError('the repository is damaged, so what it has cannot be published', {
      advice: { code: 'check-and-repair' },
    });
  }
  const { positions, hashes } = state.filter.plan;
  const { counters, liveCount } = countersOfOwn(state);
  return { positions, hashes, liveCount, plane: planeOf(counters) };
}

/** Borrowed chunks are left out: this domain does not give them, so it need not be asked. */
function countersOfOwn(state: OpenedState['state']): PartOfCounters {
  const { filter, packs } = state;
  if (borrowedPacksOf(state).length === 0) return filter;
  const isBorrowed = (entry: number): boolean =>
    filter.hasLocation(entry) &&
    packs.has(filter.packIndexOf(entry)) &&
    packs.get(filter.packIndexOf(entry)).isBorrowed;
  return countersWithout(filter, isBorrowed);
}

/** Returns false if another process has used the name meanwhile. */
async function write(files: OwnPlaneFiles, { file }: PlannedPublication): Promise<boolean> {
  return file === undefined || (await files.writeNew(file.name, file.bytes));
}
