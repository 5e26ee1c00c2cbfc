import { RefusedError, SnapshotNotFoundError, UsageError, isAbsent } from '../errors.ts';
import type { BackendError } from '../errors.ts';
import { assertCondemnationsReadable } from '../repository/condemned.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { assertArguments } from '../session/arguments.ts';
import { waitingContext } from '../session/context.ts';
import { deletedSnapshots, idBeforeDelete } from '../session/deleted-snapshot.ts';
import { withRepository } from '../session/session.ts';
import { beginPhase } from '../session/progress.ts';
import type { OperationContext } from '../session/context.ts';
import { bringBack } from './kept-deleted.ts';
import { findMissing, isSnapshotWhole } from '../snapshots/live-walk.ts';
import { assertUnprotected } from './protection.ts';
import type { ReadSnapshots, SnapshotListing } from '../repository/read-snapshots.ts';
import { recordCommits } from '../saving/manifest-copies.ts';
import type { Repository } from '../repository/repository.ts';
import { commitDelete, measureSnapshots, reclaim } from './remove-snapshots.ts';
import type { FreedBytes, Reclaimed } from './remove-snapshots.ts';
import { CHOICE_KINDS, assertCountable, isIdPrefix, selectSnapshots } from '../snapshots/select-snapshots.ts';
import type { SnapshotFilter } from '../snapshots/snapshot-filter.ts';

export type { FreedBytes } from './remove-snapshots.ts';

export interface DeleteOptions {
  readonly selectors: readonly string[];
  readonly filter?: SnapshotFilter;
  /** Measures only, and changes nothing. */
  readonly dryRun?: boolean;
  /** Reclaims the space at once (default). If false, the delete can be undone. */
  readonly reclaim?: boolean;
  /** Keeps the space until this time (RFC 3339), so that the delete can be undone until then. */
  readonly undoUntil?: string;
}

export interface DeleteResult extends Reclaimed {
  /** The selected snapshots. Another process may have deleted some of them in the meantime. */
  readonly snapshots: readonly SnapshotListing[];
  readonly freed: FreedBytes;
  readonly dryRun: boolean;
}

/** Deletes snapshots, measures the bytes that this frees, and reclaims them unless the repository is in use. */
export async function deleteSnapshots(context: OperationContext, options: DeleteOptions): Promise<DeleteResult> {
  assertArguments<DeleteOptions>(context, options, {
    ...CHOICE_KINDS,
    dryRun: 'flag',
    reclaim: 'flag',
    undoUntil: 'time',
  });
  const dryRun = options.dryRun === true;
  beginPhase(context.progress, 'deleting');
  // To keep the space, manifests are replaced.
  const changing = options.undoUntil === undefined ? 'shared' : 'exclusive';
  const access = dryRun ? 'read' : changing;
  const { snapshots, freed } = await withRepository(waitingContext(context), access, async (repository) => {
    const found = await repository.files.readSnapshots({ isExact: true });
    const selected = await selectExisting(context, repository, found, options);
    const opened = await repository.openState({ listsPacks: false, isOrdered: true });
    assertCountable(options.selectors, opened.damage.lostSnapshots);
    const measured = await measureSnapshots(opened, selected);
    if (!dryRun) await commitDelete(context, repository, selected, options.undoUntil);
    return { snapshots: selected, freed: measured };
  });
  const result = { snapshots, freed, dryRun, compaction: undefined, notReclaimed: undefined };
  if (dryRun) return result;
  const { undoUntil: until } = options;
  if (until !== undefined) return { ...result, notReclaimed: { error: undefined, until } };
  if (options.reclaim === false) return { ...result, notReclaimed: { error: undefined } };
  return { ...result, ...(await reclaim(context)) };
}

/**
 * Restores deleted snapshots. One whose delete was to be undone until a time may get a new id. Throws RefusedError
 * if any chunk they need is gone.
 */
export async function undeleteSnapshots(
  context: OperationContext,
  options: Pick<DeleteOptions, 'selectors' | 'filter'>,
): Promise<{ readonly snapshots: readonly SnapshotListing[] }> {
  assertArguments<Pick<DeleteOptions, 'selectors' | 'filter'>>(context, options, CHOICE_KINDS);
  const isKept = ({ snapshot }: SnapshotListing): boolean => snapshot.deletedUntil !== undefined;
  const bringAllBack = async (repository: Repository, mayReplace: boolean): Promise<SnapshotListing[] | undefined> => {
    const selected = select(context, await repository.files.readSnapshots({ deleted: true, isExact: true }), options);
    const kept = selected.filter(isKept);
    if (kept.length > 0 && !mayReplace) return undefined;
    const gone = selected.filter((listing) => !isKept(listing));
    await undoDeletes(context, repository, gone);
    const back: SnapshotListing[] = [];
    for (const listing of kept) back.push(await bringBack(context, repository, listing));
    return [...gone, ...back];
  };
  // Two processes that replace the same manifest at once would leave two versions of the snapshot.
  const snapshots =
    (await withRepository(context, 'shared', async (repository) => bringAllBack(repository, false))) ??
    (await withRepository(waitingContext(context), 'exclusive', async (repository) => bringAllBack(repository, true)));
  return { snapshots: snapshots ?? [] };
}

async function undoDeletes(
  context: OperationContext,
  repository: Repository,
  listings: readonly SnapshotListing[],
): Promise<void> {
  const opened = await repository.openState({ listsPacks: true });
  assertCondemnationsReadable(opened.listing.condemned);
  if (opened.needsCondemned) throw new RefusedError(INTERRUPTED, { advice: { code: 'repair-and-repeat' } });
  for (const listing of listings) await assertWhole(opened, listing);
  const ids = listings.map(({ id }) => id);
  const isWhole = async (id: string): Promise<boolean> => isSnapshotWhole(repository, id);
  try {
    await repository.order.undoDelete(ids, repository.assertLocked, isWhole);
  } catch (error) {
    throw isAbsent(error) ? noLongerDeleted(error, listings) : error;
  }
  await recordCommits(context, repository, ids);
}

function noLongerDeleted(cause: BackendError, selected: readonly SnapshotListing[]): SnapshotNotFoundError {
  const names = selected.map(({ id }) => id.slice(0, 8)).join(', ');
  const message = `another process brought back or reclaimed a snapshot meanwhile (one of ${names})`;
  return new SnapshotNotFoundError(message, { cause, advice: { code: 'list-snapshots' } });
}

/** A snapshot that relies on condemned packs could lose them. */
const INTERRUPTED = 'a compaction was interrupted and left packs that are about to be removed';

function select(
  context: OperationContext,
  snapshots: ReadSnapshots,
  { selectors, filter }: Pick<DeleteOptions, 'selectors' | 'filter'>,
): SnapshotListing[] {
  // Here a filter restricts what the names mean. Without names, a typo in it could delete everything else.
  if (selectors.length === 0) throw new UsageError('no snapshot given', { advice: { code: 'name-snapshots' } });
  const selected = selectSnapshots(context, snapshots, { selectors, filter }, !snapshots.deleted);
  if (!snapshots.deleted) assertUnprotected(selected);
  else if (selected.some(({ snapshot }) => snapshot.hold !== undefined))
    throw new RefusedError('a hold cannot be brought back', { advice: { code: 'release-there' } });
  return selected;
}

/** Selects as `select` does. The error for a snapshot that has been deleted before says so. */
async function selectExisting(
  context: OperationContext,
  repository: Repository,
  found: ReadSnapshots,
  options: DeleteOptions,
): Promise<SnapshotListing[]> {
  try {
    return select(context, found, options);
  } catch (error) {
    if (!(error instanceof SnapshotNotFoundError)) throw error;
    const isGone = (name: string): boolean => isIdPrefix(name) && !found.listings.some(({ id }) => id.startsWith(name));
    const names = options.selectors.filter(isGone);
    const [gone] = await deletedSnapshots(repository.files, names);
    if (gone === undefined) throw error;
    const id = idBeforeDelete(gone);
    throw new SnapshotNotFoundError(`snapshot ${id.slice(0, 8)} is already deleted`, {
      advice: { code: 'undelete-snapshot', subject: id },
      cause: error,
    });
  }
}

async function assertWhole(opened: OpenedState, { id, snapshot }: SnapshotListing): Promise<void> {
  const missing = await findMissing(opened, Buffer.from(snapshot.tree, 'hex'));
  if (missing === undefined) return;
  throw new RefusedError(`snapshot ${id.slice(0, 8)} cannot be brought back: chunk ${missing} has been reclaimed`, {
    hint: 'Chunks that a compaction has reclaimed cannot be recovered.',
  });
}
