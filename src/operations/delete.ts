import {
  BackendError,
  CancelledError,
  CorruptDataError,
  RefusedError,
  RepositoryLockedError,
  SnapshotNotFoundError,
  UsageError,
  isAbsent,
  isDiskFull,
} from '../errors.ts';
import type { ErrorDetails, LdmError } from '../errors.ts';
import { measureRelease } from '../ldm/fold-release.ts';
import type { ReleaseMeasure } from '../ldm/fold-release.ts';
import { assertCondemnationsReadable } from '../repository/condemned.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { compact } from './compact.ts';
import type { CompactResult } from './compact.ts';
import { beginPhase, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { findMissing, isSnapshotWhole } from './live-walk.ts';
import type { ReadSnapshots, SnapshotListing } from '../repository/read-snapshots.ts';
import { forgetSnapshots } from './repository-memory.ts';
import { assertCountable, selectSnapshot } from './select-snapshots.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';

/** The bytes that only a certain set of snapshots needs. */
export type FreedBytes = ReleaseMeasure;

export interface DeleteOptions {
  readonly selectors: readonly string[];
  readonly filter?: SnapshotFilter;
  /** Measures only, and changes nothing. */
  readonly dryRun?: boolean;
  /** Reclaims the space at once (default). If false, the delete can be undone. */
  readonly reclaim?: boolean;
}

export interface DeleteResult {
  /** The selected snapshots. Another process may have deleted some of them in the meantime. */
  readonly snapshots: readonly SnapshotListing[];
  readonly freed: FreedBytes;
  readonly dryRun: boolean;
  readonly compaction: CompactResult | undefined;
  /** Why the space was not reclaimed: an error, or nobody wanted it. Undefined if it was, and for a dry run. */
  readonly notReclaimed: { readonly error: LdmError | undefined } | undefined;
}

/** Deletes snapshots, measures the bytes that this frees, and reclaims them unless the repository is in use. */
export async function deleteSnapshots(context: OperationContext, options: DeleteOptions): Promise<DeleteResult> {
  const dryRun = options.dryRun === true;
  beginPhase(context.progress, 'deleting');
  const { snapshots, freed } = await withRepository(context, 'shared', async (repository) => {
    const selected = select(context, await repository.files.readSnapshots(), options);
    const opened = await repository.openState();
    assertCountable(options.selectors, opened.damage.lostSnapshots);
    const measured = await measure(opened, selected);
    if (!dryRun) await commit(context, repository, selected);
    return { snapshots: selected, freed: measured };
  });
  const result = { snapshots, freed, dryRun, compaction: undefined, notReclaimed: undefined };
  if (dryRun) return result;
  if (options.reclaim === false) return { ...result, notReclaimed: { error: undefined } };
  return { ...result, ...(await reclaim(context)) };
}

/** Restores deleted snapshots. Throws RefusedError if any chunk they need is gone. */
export async function undeleteSnapshots(
  context: OperationContext,
  options: Pick<DeleteOptions, 'selectors' | 'filter'>,
): Promise<{ readonly snapshots: readonly SnapshotListing[] }> {
  return await withRepository(context, 'shared', async (repository) => {
    const selected = select(context, await repository.files.readSnapshots({ deleted: true }), options);
    const opened = await repository.openState();
    assertCondemnationsReadable(opened.listing.condemned);
    if (opened.needsCondemned) throw new RefusedError(INTERRUPTED, { advice: { code: 'repair-and-repeat' } });
    for (const listing of selected) await assertWhole(opened, listing);
    const ids = selected.map(({ id }) => id);
    const isWhole = async (id: string): Promise<boolean> => isSnapshotWhole(repository, id);
    try {
      await repository.order.undoDelete(ids, repository.assertLocked, isWhole);
    } catch (error) {
      throw isAbsent(error) ? noLongerDeleted(error, selected) : error;
    }
    return { snapshots: selected };
  });
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
  if (selectors.length === 0) {
    throw new UsageError('no snapshot given', { advice: { code: 'name-snapshots' } });
  }
  const selected = new Map<string, SnapshotListing>();
  for (const selector of selectors) {
    const listing = selectSnapshot(context, snapshots, selector, { filter, isDeleting: !snapshots.deleted });
    selected.set(listing.id, listing);
  }
  return [...selected.values()];
}

async function measure(opened: OpenedState, selected: readonly SnapshotListing[]): Promise<FreedBytes> {
  const ids = selected.map(({ id }) => id).filter((id) => opened.state.snapshots.has(id));
  return await measureRelease(opened.state, ids, opened.reader.readTree);
}

async function commit(
  context: OperationContext,
  repository: Repository,
  selected: readonly SnapshotListing[],
): Promise<void> {
  const ids = selected.map(({ id }) => id);
  forgetSnapshots(context, repository, ids);
  const deletedCount = await repository.order.commitDelete(ids, repository.assertLocked);
  // Again, since a command that ended in between has seen them.
  forgetSnapshots(context, repository, ids);
  if (deletedCount > 0) return;
  const names = ids.map((id) => id.slice(0, 8)).join(', ');
  throw new SnapshotNotFoundError(`already deleted by another process: ${names}`, {
    advice: { code: 'list-snapshots' },
  });
}

/** The delete is already committed; the space can be reclaimed at any later time. */
async function reclaim(context: OperationContext): Promise<Pick<DeleteResult, 'compaction' | 'notReclaimed'>> {
  try {
    return { compaction: await compact({ ...context, lockWaitMs: 0 }), notReclaimed: undefined };
  } catch (error) {
    const isInTheWay = error instanceof RepositoryLockedError || error instanceof RefusedError;
    if (!isInTheWay && !isDiskFull(error)) throw afterDelete(error);
    return { compaction: undefined, notReclaimed: { error } };
  }
}

/** Adds to the message that the delete succeeded, because the user sees only the error. */
function afterDelete(error: unknown): unknown {
  const prefix = 'the snapshots are deleted, but the space could not be reclaimed: ';
  if (error instanceof CorruptDataError) {
    return new CorruptDataError(prefix + error.message, { ...helpOf(error), cause: error });
  }
  if (error instanceof CancelledError) return new CancelledError(error.signal, 'delete');
  if (!(error instanceof BackendError)) return error;
  return error.rephrase(prefix + error.message);
}

function helpOf({ hint, advice }: LdmError): ErrorDetails {
  return { hint, advice };
}

async function assertWhole(opened: OpenedState, { id, snapshot }: SnapshotListing): Promise<void> {
  const missing = await findMissing(opened, Buffer.from(snapshot.tree, 'hex'));
  if (missing === undefined) return;
  throw new RefusedError(`snapshot ${id.slice(0, 8)} cannot be brought back: chunk ${missing} has been reclaimed`, {
    hint: 'Chunks that a compaction has reclaimed cannot be recovered.',
  });
}
