import { RefusedError, RepositoryLockedError, UsageError } from '../errors.ts';
import { measureRelease } from '../filter/fold-release.ts';
import type { ReleaseMeasure } from '../filter/fold-release.ts';
import { isDiskFull } from '../repository/durable-order.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { compact } from './compact.ts';
import type { CompactResult } from './compact.ts';
import { withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { findMissing } from './live-walk.ts';
import { findSnapshot, readSnapshots } from './select-snapshots.ts';
import type { SnapshotListing } from './select-snapshots.ts';

/** Bytes that a set of snapshots needs and no other snapshot does. */
export type FreedBytes = ReleaseMeasure;

export interface DeleteOptions {
  readonly selectors: readonly string[];
  /** Measures and changes nothing. */
  readonly dryRun?: boolean;
  /** Gives the space back at once; true by default. Without it the delete can be undone. */
  readonly reclaim?: boolean;
}

export interface DeleteResult {
  readonly snapshots: readonly SnapshotListing[];
  readonly freed: FreedBytes;
  readonly dryRun: boolean;
  readonly compaction: CompactResult | undefined;
  /** Why the space was not given back at once. */
  readonly notReclaimed: string | undefined;
}

/** Deletes snapshots, says exactly what that frees, and gives the space back if nobody else is at work. */
export async function deleteSnapshots(context: OperationContext, options: DeleteOptions): Promise<DeleteResult> {
  const dryRun = options.dryRun === true;
  const { snapshots, freed } = await withRepository(context, 'shared', async (repository) => {
    const selected = select(await readSnapshots(repository.backend), options.selectors);
    const measured = await measure(await repository.openState(), selected);
    if (!dryRun) await commit(repository, selected);
    return { snapshots: selected, freed: measured };
  });
  const result = { snapshots, freed, dryRun, compaction: undefined, notReclaimed: undefined };
  if (dryRun) return result;
  if (options.reclaim === false) return { ...result, notReclaimed: 'as asked; `ldm compact` gives the space back' };
  return { ...result, ...(await reclaim(context)) };
}

/** Brings deleted snapshots back, as long as everything that they need is still there. */
export async function undeleteSnapshots(
  context: OperationContext,
  options: { readonly selectors: readonly string[] },
): Promise<{ readonly snapshots: readonly SnapshotListing[] }> {
  return await withRepository(context, 'shared', async (repository) => {
    const selected = select(await readSnapshots(repository.backend, { deleted: true }), options.selectors);
    const opened = await repository.openState();
    for (const listing of selected) await assertWhole(opened, listing);
    await repository.assertLocked();
    await repository.order.undoDelete(selected.map(({ id }) => id));
    return { snapshots: selected };
  });
}

function select(snapshots: Awaited<ReturnType<typeof readSnapshots>>, selectors: readonly string[]): SnapshotListing[] {
  if (selectors.length === 0) {
    throw new UsageError('no snapshot was named', { hint: 'Give ids from `ldm snapshots`.' });
  }
  const selected = new Map<string, SnapshotListing>();
  for (const selector of selectors) {
    const listing = findSnapshot(snapshots, selector);
    selected.set(listing.id, listing);
  }
  return [...selected.values()];
}

async function measure(opened: OpenedState, selected: readonly SnapshotListing[]): Promise<FreedBytes> {
  const ids = selected.map(({ id }) => id).filter((id) => opened.state.snapshots.has(id));
  return await measureRelease(opened.state, ids, opened.reader.readTree);
}

async function commit(repository: Repository, selected: readonly SnapshotListing[]): Promise<void> {
  await repository.assertLocked();
  await repository.order.commitDelete(selected.map(({ id }) => id));
}

/** The delete stands whatever happens here; the space can be given back at any later time. */
async function reclaim(context: OperationContext): Promise<Pick<DeleteResult, 'compaction' | 'notReclaimed'>> {
  try {
    return { compaction: await compact({ ...context, lockWaitMs: 0 }), notReclaimed: undefined };
  } catch (error) {
    const isInTheWay = error instanceof RepositoryLockedError || error instanceof RefusedError;
    if (!isInTheWay && !isDiskFull(error)) throw error;
    return { compaction: undefined, notReclaimed: `${error.message}; \`ldm compact\` gives the space back later` };
  }
}

async function assertWhole(opened: OpenedState, { id, snapshot }: SnapshotListing): Promise<void> {
  const missing = await findMissing(opened, Buffer.from(snapshot.tree, 'hex'));
  if (missing === undefined) return;
  throw new RefusedError(`snapshot ${id.slice(0, 8)} cannot be brought back: chunk ${missing} was reclaimed`, {
    hint: 'Space that a compaction has given back is gone for good.',
  });
}
