import type { ObjectReader } from '../backend/backend.ts';
import { isDamage } from '../errors.ts';
import { commitKnownBy } from '../format/checkpoint-name.ts';
import { deletedName, packName, segmentName, snapshotName } from '../format/layout.ts';
import { FilterState, RebuildNeededError } from '../ldm/filter-state.ts';
import { LdmFilter } from '../ldm/ldm-filter.ts';
import { loadCheckpoints } from './checkpoint-file.ts';
import { readCommitLog } from './commit-log.ts';
import { planOf } from './config-file.ts';
import { hasCondemned, listRepository, withoutCondemned } from './listing.ts';
import type { Listing } from './listing.ts';
import { StateOpening } from './opened-state.ts';
import type { CheckpointKnowledge, OpenStateOptions, OpenedState } from './opened-state.ts';

/**
 * Opens the filter state: reads the newest usable checkpoint and folds in all differences. The state depends only on
 * the segments and snapshots present, not on the checkpoint.
 *
 * Condemned segments and packs count as removed. Only if that leaves the state incomplete do they count as present: a
 * process that was suspended may have committed a snapshot that needs them.
 */
export async function openState(options: OpenStateOptions): Promise<OpenedState> {
  const listing = options.listing ?? (await listRepository(options));
  const opened = await openListed(options, listing);
  const completed = await correctListing(options, opened, listing);
  return completed === undefined ? opened : await openListed({ ...options, from: undefined }, completed);
}

/** If something seems to be missing, returns a listing that has more of it; undefined if there is none. */
async function correctListing(
  options: OpenStateOptions,
  { state, damage }: OpenedState,
  listing: Listing,
): Promise<Listing | undefined> {
  const missing = { packIds: state.absentPacks, segmentIds: damage.lostSegments };
  const completed = await addUnlisted(options.backend, listing, missing);
  if (completed !== undefined || state.isComplete || options.listing !== undefined) return completed;
  // Nothing has the names of new segments, so these can only be listed again.
  const again = await listRepository(options);
  const known = new Set(listing.segmentIds);
  return again.segmentIds.some((id) => !known.has(id)) ? again : undefined;
}

/**
 * Looks by name for packs and segments that should exist and that a listing lacks, or has with less than their full
 * length: no digest protects a listing, and those of some places lag behind. Returns the completed listing, or undefined
 * if that finds nothing. What is condemned stays absent.
 */
async function addUnlisted(
  backend: ObjectReader,
  listing: Listing,
  missing: { readonly packIds: Iterable<string>; readonly segmentIds: readonly string[] },
): Promise<Listing | undefined> {
  const packIds = [...missing.packIds].filter((id) => !listing.condemned.packIds.has(id));
  const names = [...packIds.map((id) => packName(id)), ...missing.segmentIds.map((id) => segmentName(id))];
  if (names.length === 0) return undefined;
  const sizes = await backend.sizesOf(names);
  const packs = new Map(listing.packs);
  for (const id of packIds) {
    const sizeBytes = sizes.get(packName(id));
    if (sizeBytes !== undefined && sizeBytes > (packs.get(id) ?? -1)) packs.set(id, sizeBytes);
  }
  const segmentIds = missing.segmentIds.filter((id) => sizes.has(segmentName(id)));
  const isSame = segmentIds.length === 0 && packIds.every((id) => packs.get(id) === listing.packs.get(id));
  return isSame ? undefined : { ...listing, packs, segmentIds: [...listing.segmentIds, ...segmentIds] };
}

async function openListed(options: OpenStateOptions, listing: Listing): Promise<OpenedState> {
  if (!hasCondemned(listing)) return await openListing(options, listing, false);
  const opened = await openListing(options, withoutCondemned(listing), false);
  if (opened.state.isComplete) return opened;
  const withCondemned = await openListing({ ...options, from: undefined }, listing, true);
  // The missing chunks may not be in the condemned packs either.
  return withCondemned.state.missingCount < opened.state.missingCount ? withCondemned : opened;
}

async function openListing(options: OpenStateOptions, listing: Listing, needsCondemned: boolean): Promise<OpenedState> {
  const snapshots = new Map(options.prediction?.remembered ?? options.from?.remembered);
  const known: CheckpointKnowledge = { damaged: new Map(), segmentIds: new Set(), snapshots };
  for await (const { state, checkpoint, addedNames } of startingStates(options, listing, known.damaged)) {
    if (await hasReclaimed(options, listing, { state, checkpoint })) continue;
    for (const id of state.segments) known.segmentIds.add(id);
    for (const [id, folded] of state.snapshots) known.snapshots.set(id, folded);
    try {
      return await new StateOpening({ options, listing, needsCondemned, known, state, checkpoint, addedNames }).fold();
    } catch (error) {
      // An older checkpoint, or finally a rebuild, may not need the unreadable files.
      if (!(error instanceof RebuildNeededError || isDamage(error))) throw error;
    }
  }
  const state = new FilterState(new LdmFilter(planOf(options.config)));
  const origin = { checkpoint: undefined, addedNames: [] };
  return await new StateOpening({ options, listing, needsCondemned, known, state, ...origin }).fold();
}

/**
 * Returns whether a state has a snapshot that is gone, and that it does not prove to be lost. It must not be used then. A
 * state that this process opened may have it from a listing that lagged behind. From a checkpoint, it was reclaimed if a
 * later whole commit record lacks it: a compaction whose listing lacked the checkpoint has left that.
 */
async function hasReclaimed(
  options: OpenStateOptions,
  listing: Listing,
  { state, checkpoint = '' }: Pick<OpenedState, 'state' | 'checkpoint'>,
): Promise<boolean> {
  const isOpened = state === options.from?.state;
  const lastCommit = commitKnownBy(checkpoint);
  if (!isOpened && lastCommit === undefined) return false;
  const listed = new Set([...listing.snapshotIds, ...listing.deletedIds]);
  const unlisted = [...state.snapshots.keys()].filter((id) => !listed.has(id));
  if (unlisted.length === 0) return false;
  const sizes = await options.backend.sizesOf(unlisted.flatMap((id) => [snapshotName(id), deletedName(id)]));
  const gone = unlisted.filter((id) => !sizes.has(snapshotName(id)) && !sizes.has(deletedName(id)));
  if (gone.length === 0 || isOpened) return gone.length > 0;
  const commits = listing.commits ?? (await readCommitLog(options, []));
  const isLater = commits.damaged.size === 0 && commits.start > lastCommit!;
  return isLater && gone.some((id) => !commits.snapshotIds.has(id));
}

/** The states that can be brought up to date, the best one first. */
async function* startingStates(
  options: OpenStateOptions,
  listing: Listing,
  damaged: Map<string, string>,
): AsyncGenerator<Pick<OpenedState, 'state' | 'checkpoint' | 'addedNames'>> {
  const { from, ignoreCheckpoints = false, onlyCheckpoint } = options;
  if (from !== undefined) yield from;
  const checkpoints = onlyCheckpoint === undefined ? listing.checkpoints : [onlyCheckpoint];
  if (ignoreCheckpoints) return;
  for await (const loaded of loadCheckpoints(options, checkpoints, listing.segmentIds, damaged)) {
    yield { ...loaded, addedNames: [] };
  }
}
