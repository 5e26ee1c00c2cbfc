import { hasNanosecondTimes } from '../files/native.ts';
import { currentDirectory } from '../files/current-directory.ts';
import { absolutePath } from '../files/root-paths.ts';
import { createTargetPolicy } from '../files/target-policy.ts';
import { makeTargetRoot } from '../files/target-writer.ts';
import type { SnapshotSummary } from '../format/snapshot.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { byteStringOf, textOfInput } from '../util/byte-string.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { Pacer, beginPhase, withRepository } from './context.ts';
import type { OperationContext, Progress } from './context.ts';
import type { OverwriteMode } from './restore/overwrite.ts';
import { RestoreTally } from './restore/restore-result.ts';
import type { RestoreResult } from './restore/restore-result.ts';
import { Restorer } from './restore/restorer.ts';
import { assertCountable, parseSelector, selectSnapshot } from './select-snapshots.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { findPlace } from '../repository/snapshot-path.ts';
import type { SnapshotPlace } from '../repository/snapshot-path.ts';
import { TreeWalk } from '../repository/tree-walk.ts';

export type { OverwriteMode } from './restore/overwrite.ts';
export type { RestoreProblem, RestoreResult } from './restore/restore-result.ts';

export interface RestoreOptions {
  /** `ID[:path]`, `latest`, `latest~N`. */
  readonly selector: PathInput;
  readonly filter?: SnapshotFilter;
  /** The directory to restore into; created if missing. A relative path starts from the current directory. */
  readonly target: PathInput;
  /** Default: `never`. */
  readonly overwrite?: OverwriteMode;
  /** Leaves runs of zeros in large files unwritten, as holes. */
  readonly sparse?: boolean;
  readonly dryRun?: boolean;
}

/** From here on, planning takes longer than starting the threads, which would otherwise start after it. */
const MANY_FILES = 5000;

/**
 * Restores a snapshot or a part of it. Reports everything that cannot be restored, and restores the rest. Never leaves
 * a file with wrong bytes at the target.
 */
export async function restore(context: OperationContext, options: RestoreOptions): Promise<RestoreResult> {
  const { name, path } = parseSelector(options.selector);
  return await withRepository(context, 'read', async (repository) => {
    const { filter } = options;
    const listing = selectSnapshot(context, await repository.files.readSnapshots(), name, { filter });
    const opened = await repository.openState();
    assertCountable([name], opened.damage.lostSnapshots);
    const place = await findPlace(opened.reader, listing, path);
    const { onNotice, progress } = context;
    const tally = new RestoreTally((problem) => onNotice?.({ kind: 'restore-problem', ...problem }), progress);
    const dryRun = options.dryRun === true;
    const directory = absoluteTarget(byteStringOf(options.target));
    const target = dryRun ? directory : makeTargetRoot(directory);
    if (!dryRun && !hasNanosecondTimes()) onNotice?.({ kind: 'times-in-milliseconds' });
    beginPhase(context.progress, 'restoring');
    if (path === '') announceTotals(context.progress, listing.snapshot.summary);
    const hasManyFiles = path === '' && listing.snapshot.summary.totalFilesProcessed >= MANY_FILES;
    if (hasManyFiles && !dryRun) repository.threads.prepare();
    const blocks = await runSteps({ context, options, repository, opened, place, tally, target });
    const { problems, filesRestored, filesUnchanged, filesKept, filesFailed } = tally;
    const { directoriesRestored, directoriesFailed, othersRestored, othersFailed, socketsSkipped, bytesRestored } =
      tally;
    const counts = {
      filesRestored,
      filesUnchanged,
      filesKept,
      filesFailed,
      directoriesRestored,
      directoriesFailed,
      othersRestored,
      othersFailed,
      socketsSkipped,
      bytesRestored,
      blocksRead: blocks.read,
      blocksNeeded: blocks.needed,
    };
    return { snapshotId: listing.id, target: textOfInput(options.target), ...counts, problems };
  });
}

/** An absolute path must work even if the current directory was deleted. */
function absoluteTarget(target: ByteString): ByteString {
  return absolutePath(target, target.startsWith('/') ? target : currentDirectory());
}

type Blocks = Restorer['blocks'];

/** The totals of a whole snapshot are known in advance. */
function announceTotals(progress: Progress | undefined, summary: SnapshotSummary): void {
  if (progress === undefined) return;
  progress.filesTotal = summary.totalFilesProcessed;
  progress.bytesTotal = summary.totalBytesProcessed;
}

interface RestoreRun {
  readonly context: OperationContext;
  readonly options: RestoreOptions;
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly place: SnapshotPlace;
  readonly tally: RestoreTally;
  readonly target: ByteString;
}

async function runSteps({ context, options, repository, opened, place, tally, target }: RestoreRun): Promise<Blocks> {
  const walk = new TreeWalk(opened.reader, place);
  const pacer = new Pacer(context);
  const restorer = new Restorer({
    opened,
    target,
    policy: createTargetPolicy({ makesDevices: true }),
    threads: repository.threads,
    overwrite: options.overwrite ?? 'never',
    dryRun: options.dryRun === true,
    sparse: options.sparse === true,
    tally,
    pacer,
  });
  try {
    // Most steps wait for nothing, and awaiting them would take longer than the steps.
    for (;;) {
      const next = walk.next();
      const step = next instanceof Promise ? await next : next;
      if (step === undefined) break;
      const running = restorer.run(step);
      if (running !== undefined) await running;
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
      if (restorer.isPlanFull) await restorer.writePlanned();
    }
    await restorer.finish();
  } finally {
    await restorer.close();
  }
  return restorer.blocks;
}
