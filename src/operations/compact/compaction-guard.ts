import { RefusedError, isAbsent, isDamage } from '../../errors.ts';
import type { FilterState } from '../../filter/filter-state.ts';
import { releaseSnapshots } from '../../filter/fold-release.ts';
import { assertCondemnationsReadable } from '../../repository/condemned.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { walkLive } from '../live-walk.ts';

const REPAIR = 'Run `ldm check` for details, then `ldm repair`.';

/**
 * Refuses to reclaim where "dead" cannot be believed: something that says what is needed is lost or unreadable.
 * `forgetsLost` is a person's word that snapshots which are gone without a delete are to be given up.
 */
export async function assertTrusted(opened: OpenedState, forgetsLost: boolean): Promise<void> {
  const { state, damagedSnapshots, damagedSegments, lostSnapshots } = opened;
  assertCondemnationsReadable(opened.listing.condemned);
  for (const message of damagedSnapshots.values()) throw refused(`a snapshot cannot be read: ${message}`);
  for (const message of damagedSegments.values()) throw refused(`a segment cannot be read: ${message}`);
  for (const [id, reason] of state.unreadableTrees) throw refused(`tree ${id} cannot be read: ${reason}`);
  if (forgetsLost) return await releaseSnapshots(state, lostSnapshots, opened.reader.readTree);
  const missing = missingDirectory(opened);
  if (missing !== undefined) {
    throw refused(
      `${missing}/ does not exist, although there are packs`,
      `If it was empty, create it again. ${FORGET}`,
    );
  }
  if (lostSnapshots[0] !== undefined) {
    throw refused(`snapshot ${lostSnapshots[0]} is missing although it was not deleted`, FORGET);
  }
  if (isSuspiciouslyEmpty(opened)) {
    throw refused('there are chunks but no snapshots, and no filter image shows that there never were any', FORGET);
  }
}

const FORGET =
  '`ldm repair` restores the manifest if its copy or the filter image still exists. To give it up, run `ldm compact --forget-lost`.';

/** A copy of a repository lacks directories that were empty. These two are not, unless all snapshots were deleted. */
function missingDirectory({ listing }: OpenedState): string | undefined {
  const { missingDirectories: missing, packs, deletedIds } = listing;
  if (packs.size === 0) return undefined;
  return missing.find((directory) => directory === 'index' || (directory === 'snapshots' && deletedIds.length === 0));
}

/** Every manifest may have been lost at once, and that must never look like "all garbage". */
function isSuspiciouslyEmpty({ listing, checkpoint, state }: OpenedState): boolean {
  const { snapshotIds, deletedIds } = listing;
  return checkpoint === undefined && snapshotIds.length + deletedIds.length === 0 && state.filter.deadCount > 0;
}

/**
 * The counters nominate, the mark condemns: walks the live trees and verifies that exactly the chunks with references
 * are reached. The roots come from the manifests as they are listed, each verified against its id, and must agree with
 * the state, which may come from a checkpoint. Returns the ids of the snapshots whose chunks were marked.
 */
export async function markLive({ files }: Repository, opened: OpenedState): Promise<Set<string>> {
  const { state, listing } = opened;
  const roots = new Map<string, Uint8Array>();
  for (const id of listing.snapshotIds) {
    const tree = await readRoot(files, id);
    const folded = state.snapshots.get(id);
    if (tree === undefined && folded === undefined) continue;
    if (tree === undefined || folded === undefined || Buffer.compare(tree, folded.tree) !== 0) {
      throw refused(`the filter state and the manifest of snapshot ${id} disagree; nothing was removed`);
    }
    roots.set(id, tree);
  }
  for (const id of state.snapshots.keys()) {
    if (!roots.has(id))
      throw refused(`the filter state counts snapshot ${id}, which does not exist; nothing was removed`);
  }
  const { reached } = await walkLive(opened, roots.values());
  const wrong = findDisagreement(state, (entry) => reached.has(entry));
  if (wrong === undefined) return new Set(roots.keys());
  throw refused(`the reference counts disagree with the snapshots at chunk ${wrong}; nothing was removed`);
}

/** The root tree of a snapshot; undefined if its manifest is gone. */
async function readRoot(files: Repository['files'], id: string): Promise<Uint8Array | undefined> {
  try {
    return Buffer.from((await files.readManifest(id)).snapshot.tree, 'hex');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (isDamage(error)) throw refused(`a snapshot cannot be read: ${error.message}`);
    throw error;
  }
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
  return new RefusedError(`cannot reclaim space: ${message}`, { hint });
}
