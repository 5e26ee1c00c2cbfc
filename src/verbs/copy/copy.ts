import { assertArguments } from '../../core/session/arguments.ts';
import {
  LdmError,
  NoPasswordError,
  RepositoryNotFoundError,
  UsageError,
  WrongPasswordError,
} from '../../core/errors.ts';
import { NotEncryptedError } from '../../core/session/unlock.ts';
import { assertCondemnationsReadable } from '../../core/repository/condemned.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ReusedChunks } from '../../core/saving/backup-tally.ts';
import { PackGoneError, unreliablePackIds } from '../../core/saving/relied-packs.ts';
import { warnOfDamage } from '../../core/saving/problems.ts';
import { contextAt } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext, OtherRepository } from '../../core/session/context.ts';
import { CopyRun } from './copy-run.ts';
import type { CopySides } from './open-copier.ts';
import type { CopiedSnapshot } from './copy-commits.ts';
import { selectForCopy } from './select-for-copy.ts';
import type { CopySelection, SelectedSnapshots } from './select-for-copy.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { CopyProblem } from '../../core/session/notices.ts';

export type { CopiedSnapshot } from './copy-commits.ts';
export type { CopyAmount } from './estimate.ts';
export type { CopyProblem } from '../../core/session/notices.ts';

export interface CopyOptions extends CopySelection {
  readonly destination: OtherRepository;
  /** Reads only trees, and predicts what would be added. */
  readonly dryRun?: boolean;
  /** Called for each snapshot that is copied or was copied before, oldest first. */
  readonly onSnapshot?: (copied: CopiedSnapshot) => void;
}

export interface CopyResult {
  readonly dryRun: boolean;
  /** The place of the destination. */
  readonly destination: string;
  /** Oldest first. */
  readonly snapshots: readonly CopiedSnapshot[];
  /** Bytes of the packs that were written. */
  readonly storedBytes: number;
  /** Chunks that the destination had and no snapshot needed, left by an interrupted copy or a delete. */
  readonly reused: ReusedChunks;
  /**
   * Whether a dry run is exact. It is not if ids or chunkers differ: what the destination has from elsewhere is not
   * found without reading the files, and other chunks are a little more or less.
   */
  readonly isExact: boolean;
  /** Snapshots that were not copied. */
  readonly problems: readonly CopyProblem[];
}

/**
 * Copies snapshots from the repository of the context to another one, which may have other keys and another chunker.
 * Stores only what is missing there, and commits each snapshot as soon as it is complete, so that a copy that was
 * interrupted can be repeated. A snapshot that cannot be read is reported and left out.
 */
export async function copySnapshots(context: OperationContext, options: CopyOptions): Promise<CopyResult> {
  assertArguments<CopyOptions>(context, options, {
    selectors: 'texts',
    filter: FILTER_KINDS,
    destination: 'other!',
    dryRun: 'flag',
    onSnapshot: 'call',
  });
  const there = contextAt(context, options.destination);
  // No deadlock: both locks are shared, and an exclusive lock is never held by a process that waits for another one.
  return await withRepository(contextAt(context), 'read', async (source) => {
    const copy = async (destination: Repository): Promise<CopyResult> =>
      copyBetween({ context, source, there, destination }, options);
    return await withRepository(there, 'add', copy).catch((error: unknown) => {
      throw aboutDestination(error, there.backend.location);
    });
  });
}

interface OpenedSides extends CopySides {
  readonly context: OperationContext;
  readonly there: OperationContext;
}

async function copyBetween(sides: OpenedSides, options: CopyOptions): Promise<CopyResult> {
  const { context, source, there, destination } = sides;
  assertDifferent(sides);
  beginPhase(context.progress, 'opening');
  const all = await source.files.readSnapshots();
  const from = await source.openState();
  const { dryRun = false, onSnapshot } = options;
  const runs: CopyRun[] = [];
  const copy = async (to: OpenedState, selected: SelectedSnapshots): Promise<void> => {
    const unreliable = await unreliablePackIds(there, destination, to);
    const run = new CopyRun({ ...sides, from, to, unreliable, all, dryRun, onSnapshot });
    runs.push(run);
    await run.run(selected);
  };
  const to = await openDestination(sides);
  const selected = selectForCopy(context, from, all, options);
  await copy(to, selected).catch(async (error: unknown) => {
    // Where packs were listed, it has vanished just now.
    if (!(error instanceof PackGoneError) || to.listing.arePacksListed) throw error;
    const done = new Set(runs.flatMap((run) => [...run.doneIds]));
    const snapshots = selected.snapshots.filter(({ id }) => !done.has(id));
    await copy(await openDestination(sides, true), { snapshots, problems: [] });
  });
  return {
    dryRun,
    destination: there.backend.location,
    snapshots: runs.flatMap((run) => run.snapshots),
    storedBytes: runs.reduce((sum, run) => sum + run.storedBytes, 0),
    reused: runs.at(-1)!.reused,
    isExact: runs.at(-1)!.isExact,
    problems: runs.flatMap((run) => run.problems),
  };
}

async function openDestination({ there, destination }: OpenedSides, listsPacks = false): Promise<OpenedState> {
  const opened = await destination.openState({ listsPacks });
  assertCondemnationsReadable(opened.listing.condemned);
  warnOfDamage(there, opened);
  return opened;
}

/** The places may differ if one is a symlink, and a copy of the files of a repository is the same repository. */
function assertDifferent({ context, source, there, destination }: OpenedSides): void {
  if (source.config.repositoryId !== destination.config.repositoryId) return;
  const [from, to] = [context.backend.location, there.backend.location];
  const message =
    from === to
      ? `${from} is both the source and the destination`
      : `${to} is the same repository as ${from}, or a copy of its files`;
  throw new UsageError(message, { advice: { code: 'choose-other-destination' } });
}

/** The user may not know which of the two repositories an error is about. */
function aboutDestination(error: unknown, subject: string): unknown {
  if (error instanceof RepositoryNotFoundError) {
    return new RepositoryNotFoundError(error.message, { advice: { code: 'create-destination', subject } });
  }
  const message = error instanceof LdmError ? `the destination ${subject}: ${error.message}` : '';
  if (error instanceof NotEncryptedError) {
    return new NotEncryptedError(message, { advice: { code: 'accept-plain-destination' } });
  }
  const advice = { code: 'give-destination-password' } as const;
  if (error instanceof WrongPasswordError) return new WrongPasswordError(message, { advice });
  return error instanceof NoPasswordError ? new NoPasswordError(message, { advice }) : error;
}
