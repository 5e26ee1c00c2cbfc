import {
  BackendError,
  CancelledError,
  CorruptDataError,
  RefusedError,
  RepositoryLockedError,
  SnapshotNotFoundError,
  isDiskFull,
} from '../errors.ts';
import type { ErrorDetails, LdmError } from '../errors.ts';
import { measureRelease } from '../ldm/fold-release.ts';
import type { ReleaseMeasure } from '../ldm/fold-release.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { withSuperseded } from '../repository/read-snapshots.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import type { Repository } from '../repository/repository.ts';
import { compact } from './compact.ts';
import type { CompactOptions, CompactResult } from './compact.ts';
import type { OperationContext } from '../session/context.ts';
import { deleteUntil } from './kept-deleted.ts';
import { forgetSnapshots } from '../session/repository-memory.ts';

/** The bytes that only a certain set of snapshots needs. */
export type FreedBytes = ReleaseMeasure;

/** Measures the bytes that only these snapshots need. */
export async function measureSnapshots(opened: OpenedState, selected: readonly SnapshotListing[]): Promise<FreedBytes> {
  const ids = withSuperseded(selected).filter((id) => opened.state.snapshots.has(id));
  return await measureRelease(opened.state, ids, opened.reader.readTree);
}

/**
 * Deletes snapshots that were selected. Throws if other processes have deleted all of them meanwhile. `undoUntil`: their
 * space is kept until then (RFC 3339).
 */
export async function commitDelete(
  context: OperationContext,
  repository: Repository,
  selected: readonly SnapshotListing[],
  undoUntil?: string,
): Promise<void> {
  if (undoUntil !== undefined) return await deleteUntil(context, repository, selected, undoUntil);
  const ids = withSuperseded(selected);
  forgetSnapshots(context, repository, ids);
  const manifests = selected.map((listing) => withSuperseded([listing]));
  const deletedIds = await repository.order.commitDelete(manifests, repository.assertLocked);
  // Again, since a command that ended in between has seen them.
  forgetSnapshots(context, repository, ids);
  if (deletedIds.length > 0) return;
  const names = ids.map((id) => id.slice(0, 8)).join(', ');
  throw new SnapshotNotFoundError(`already deleted by another process: ${names}`, {
    advice: { code: 'list-snapshots' },
  });
}

/** What a delete did about the space of its snapshots. */
export interface Reclaimed {
  readonly compaction: CompactResult | undefined;
  /** Why the space was not reclaimed: an error, or it was not asked for. Undefined if it was, and for a dry run. */
  readonly notReclaimed: { readonly error: LdmError | undefined; readonly until?: string } | undefined;
}

/** The delete is already committed; the space can be reclaimed at any later time. */
export async function reclaim(context: OperationContext, options: CompactOptions = {}): Promise<Reclaimed> {
  try {
    return {
      compaction: await compact({ ...context, lockWaitMs: 0 }, { makesCopies: false, ...options }),
      notReclaimed: undefined,
    };
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

/** A snapshot, and what deleting only it would free. Undefined unless it was measured, and for a deleted snapshot. */
export interface ListedSnapshot extends SnapshotListing {
  readonly onlyHere?: FreedBytes;
}
