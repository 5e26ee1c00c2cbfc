import { CorruptDataError, RefusedError, isAbsent, isDamage } from '../errors.ts';
import type { AdviceCode } from '../util/advice.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { releaseSnapshots } from '../ldm/fold-release.ts';
import { assertCondemnationsReadable } from '../repository/condemned.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { extensionOf } from '../session/extension.ts';
import { walkLive } from '../snapshots/live-walk.ts';

/**
 * Verifies that it is certain which chunks are dead. Returns the ids of the snapshots whose chunks were marked.
 * @throws RefusedError also if the list of a hold cannot be read, with the domain that can end it
 */
export async function markTrusted(
  repository: Repository,
  opened: OpenedState,
  forgetsLost: boolean,
): Promise<Set<string>> {
  try {
    await assertTrusted(opened, forgetsLost);
    return await markLive(repository, opened);
  } catch (error) {
    if (!(error instanceof RefusedError || error instanceof CorruptDataError)) throw error;
    const [hold] = (await extensionOf(repository)?.findDamagedHolds(repository, opened)) ?? [];
    if (hold === undefined) throw error;
    const message = `what is held for the domain ${hold.name} is not known: snapshot ${hold.snapshotId}: ${hold.reason}`;
    throw refused(message, 'end-damaged-hold');
  }
}

/**
 * Refuses to reclaim space if it is uncertain which chunks are dead, because a file that says so is lost or unreadable.
 * With `forgetsLost`, the loss of snapshots that are missing although they were not deleted is accepted.
 */
async function assertTrusted(opened: OpenedState, forgetsLost: boolean): Promise<void> {
  const { state, damage } = opened;
  assertCondemnationsReadable(opened.listing.condemned);
  for (const message of damage.snapshots.values()) throw refused(`a snapshot cannot be read: ${message}`);
  for (const message of damage.segments.values()) throw refused(`a segment cannot be read: ${message}`);
  for (const [id, reason] of state.unreadableTrees) throw refused(`tree ${id} cannot be read: ${reason}`);
  for (const { message } of opened.listing.commits?.damaged.values() ?? []) {
    throw refused(`a commit record cannot be read: ${message}`);
  }
  if (forgetsLost) {
    const folded = damage.lostSnapshots.filter((id) => state.snapshots.has(id));
    return await releaseSnapshots(state, folded, opened.reader.readTree);
  }
  const missing = missingDirectory(opened);
  if (missing !== undefined) {
    throw refused(`${missing}/ does not exist, although there are packs`, 'restore-directory-or-forget-snapshot');
  }
  const [lostId] = damage.lostSnapshots;
  if (lostId !== undefined) {
    throw refused(`snapshot ${lostId} is missing although it was not deleted`, FORGET);
  }
  if (isSuspiciouslyEmpty(opened)) {
    throw refused('there are chunks but no snapshots, and no filter image shows that there never were any', FORGET);
  }
}

const FORGET = 'restore-or-forget-snapshot';

/** A copy of a repository may lack empty directories. These two are empty only if all snapshots were deleted. */
function missingDirectory({ listing }: OpenedState): string | undefined {
  const { missingDirectories: missing, packs, deletedIds } = listing;
  if (packs.size === 0) return undefined;
  return missing.find((directory) => directory === 'index' || (directory === 'snapshots' && deletedIds.length === 0));
}

/** If all manifests were lost at once, the chunks must not be taken for garbage. */
function isSuspiciouslyEmpty({ listing, checkpoint, state }: OpenedState): boolean {
  const { snapshotIds, deletedIds } = listing;
  return checkpoint === undefined && snapshotIds.length + deletedIds.length === 0 && state.filter.deadCount > 0;
}

/**
 * Walks the live trees and verifies that they reach exactly the chunks that have references: reference counts alone
 * never decide what is removed. The roots come from the listed manifests, each verified against its id, and must agree
 * with the state, which may come from a checkpoint. Returns the ids of the snapshots whose chunks were marked.
 */
export async function markLive({ files }: Repository, opened: OpenedState): Promise<Set<string>> {
  const { state, listing } = opened;
  const roots = new Map<string, Uint8Array>();
  for await (const [id, root] of files.prefetch(listing.snapshotIds, async (one) => readRoot(files, one))) {
    const tree = await root;
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

/** Returns the id of the root tree of a snapshot, or undefined if its manifest is missing. */
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

function refused(message: string, code: AdviceCode = 'check-details-and-repair'): RefusedError {
  return new RefusedError(`cannot reclaim space: ${message}`, { advice: { code } });
}
