import { RefusedError } from '../../errors.ts';
import type { FilterState } from '../../filter/filter-state.ts';
import { releaseSnapshots } from '../../filter/fold-release.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import { walkLive } from '../live-walk.ts';

const REPAIR = 'Run `ldm check` to see more, then `ldm repair`.';

/**
 * Refuses to reclaim where "dead" cannot be believed: something that says what is needed is lost or unreadable.
 * `forgetsLost` is a person's word that snapshots which are gone without a delete are to be given up.
 */
export async function assertTrusted(opened: OpenedState, forgetsLost: boolean): Promise<void> {
  const { state, damagedSnapshots, damagedSegments, lostSnapshots } = opened;
  for (const message of damagedSnapshots.values()) throw refused(`a snapshot cannot be read: ${message}`);
  for (const message of damagedSegments.values()) throw refused(`a segment cannot be read: ${message}`);
  for (const [id, reason] of state.unreadableTrees) throw refused(`tree ${id} cannot be read: ${reason}`);
  if (forgetsLost) return await releaseSnapshots(state, lostSnapshots, opened.reader.readTree);
  if (lostSnapshots[0] !== undefined) {
    throw refused(`snapshot ${lostSnapshots[0]} is gone, and nobody deleted it`, FORGET);
  }
  if (isSuspiciouslyEmpty(opened)) {
    throw refused('there are chunks, but no snapshot and no filter image that says there never was one', FORGET);
  }
}

const FORGET =
  '`ldm repair` brings the manifest back if its copy or the filter image is there. To give it up: `ldm compact --forget-lost`.';

/** Every manifest may have been lost at once, and that must never look like "all garbage". */
function isSuspiciouslyEmpty({ listing, checkpoint, state }: OpenedState): boolean {
  const { snapshotIds, deletedIds } = listing;
  return checkpoint === undefined && snapshotIds.length + deletedIds.length === 0 && state.filter.deadCount > 0;
}

/**
 * The counters nominate, the mark condemns: walks the live trees and proves that what has no references is reached by
 * none, and that what has some is reached.
 */
export async function assertMarkAgrees(opened: OpenedState): Promise<void> {
  const { state } = opened;
  const roots = [...state.snapshots.values()].map(({ tree }) => tree);
  const { reached } = await walkLive(opened, roots);
  const wrong = findDisagreement(state, (entry) => reached.has(entry));
  if (wrong === undefined) return;
  throw refused(`the reference counts disagree with the snapshots at chunk ${wrong}; nothing was removed`);
}

function findDisagreement(state: FilterState, isReached: (entry: number) => boolean): string | undefined {
  let wrong: string | undefined;
  state.filter.forEachEntry((entry, isLive) => {
    if (wrong !== undefined || !state.filter.hasLocation(entry) || isLive === isReached(entry)) return;
    const id = Buffer.alloc(20);
    state.filter.copyId(entry, id, 0);
    wrong = id.toString('hex');
  });
  return wrong;
}

function refused(message: string, hint = REPAIR): RefusedError {
  return new RefusedError(`space cannot be given back: ${message}`, { hint });
}
