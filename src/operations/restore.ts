import { CorruptDataError } from '../errors.ts';
import { hasNanosecondTimes } from '../files/native.ts';
import { currentDirectory } from '../files/current-directory.ts';
import { absolutePath } from '../files/root-paths.ts';
import { createTargetPolicy } from '../files/target-policy.ts';
import { makeTargetRoot } from '../files/target-writer.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { SnapshotSummary } from '../format/snapshot.ts';
import type { TreeEntry } from '../format/tree.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { byteStringOf, textOfInput } from '../util/byte-string.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { shownPathOf } from '../util/path-node.ts';
import { Pacer, beginPhase, withRepository } from './context.ts';
import type { OperationContext, Progress } from './context.ts';
import type { OverwriteMode } from './restore/file-restorer.ts';
import { PREFETCH_CACHE_BYTES, Prefetcher } from './restore/prefetcher.ts';
import { RestoreTally } from './restore/restore-result.ts';
import type { RestoreResult } from './restore/restore-result.ts';
import { RestoreSteps } from './restore/restore-steps.ts';
import { Restorer } from './restore/restorer.ts';
import { assertCountable, parseSelector, selectSnapshot } from './select-snapshots.ts';
import type { SnapshotFilter } from './snapshot-filter.ts';
import { findPlace } from './snapshot-path.ts';
import type { SnapshotPlace } from './snapshot-path.ts';

export type { OverwriteMode } from './restore/file-restorer.ts';
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

/** Maximum steps, or chunks, to look ahead of the writing. */
const STEPS_AHEAD = 256;
const CHUNKS_AHEAD = 512;

const ROUNDED_TIMES =
  'modification times are restored to the millisecond only, because the package koffi cannot be loaded here';

/**
 * Restores a snapshot or a part of it. Reports everything that cannot be restored, and restores the rest. Never leaves
 * a file with wrong bytes at the target.
 */
export async function restore(context: OperationContext, options: RestoreOptions): Promise<RestoreResult> {
  const { name, path } = parseSelector(options.selector);
  return await withRepository(context, 'read', async (repository) => {
    const { filter } = options;
    const listing = selectSnapshot(context, await repository.files.readSnapshots(), name, { filter });
    const opened = await repository.openState({ cacheBytes: PREFETCH_CACHE_BYTES });
    assertCountable([name], opened.damage.lostSnapshots);
    const place = await findPlace(opened.reader, listing, path);
    const tally = new RestoreTally((problem) => context.onNotice?.({ kind: 'warning', ...problem }));
    const dryRun = options.dryRun === true;
    const directory = absoluteTarget(byteStringOf(options.target));
    const target = dryRun ? directory : makeTargetRoot(directory);
    if (!dryRun && !hasNanosecondTimes()) context.onNotice?.({ kind: 'warning', message: ROUNDED_TIMES });
    beginPhase(context.progress, 'restoring');
    if (path === '') announceTotals(context.progress, listing.snapshot.summary);
    await runSteps({ context, options, opened, place, tally, target });
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
    };
    return { snapshotId: listing.id, target: textOfInput(options.target), ...counts, problems };
  });
}

/** An absolute path must work even if the current directory was deleted. */
function absoluteTarget(target: ByteString): ByteString {
  return absolutePath(target, target.startsWith('/') ? target : currentDirectory());
}

/** The totals of a whole snapshot are known in advance. */
function announceTotals(progress: Progress | undefined, summary: SnapshotSummary): void {
  if (progress === undefined) return;
  progress.filesTotal = summary.totalFilesProcessed;
  progress.bytesTotal = summary.totalBytesProcessed;
}

interface RestoreRun {
  readonly context: OperationContext;
  readonly options: RestoreOptions;
  readonly opened: OpenedState;
  readonly place: SnapshotPlace;
  readonly tally: RestoreTally;
  readonly target: ByteString;
}

/** Looks at steps ahead of the writing, so that blocks are read and decompressed in the meantime. */
async function runSteps({ context, options, opened, place, tally, target }: RestoreRun): Promise<void> {
  const { reader, state } = opened;
  const chunks = new Prefetcher(reader, state);
  const steps = new RestoreSteps(reader, place);
  const pacer = new Pacer(context);
  const restorer = new Restorer({
    target,
    policy: createTargetPolicy({ makesDevices: true }),
    overwrite: options.overwrite ?? 'never',
    dryRun: options.dryRun === true,
    sparse: options.sparse === true,
    chunks,
    tally,
    pacer,
    progress: context.progress,
  });
  const incomplete = new Map<TreeEntry, unknown>();
  const onFile = (entry: TreeEntry): void => {
    try {
      for (const chunk of entriesOf(opened, entry)) chunks.append(chunk);
    } catch (error) {
      if (!(error instanceof CorruptDataError)) throw error;
      incomplete.set(entry, error);
    }
  };
  const umask = process.umask(0);
  try {
    for (;;) {
      while (!steps.isAtEnd && steps.waitingCount < STEPS_AHEAD && chunks.waitingCount < CHUNKS_AHEAD) {
        const reading = steps.advance(onFile);
        if (reading !== undefined) await reading;
      }
      const step = steps.take();
      if (step === undefined) break;
      const missing = incomplete.get(step.entry);
      if (missing !== undefined && step.kind === 'entry') tally.fail(shownPathOf(step), missing, 'file');
      else await restorer.run(step, step.entry.chunkIds.length / CHUNK_ID_BYTES);
      await pacer.pause();
    }
    await restorer.finish();
  } finally {
    await restorer.close();
    process.umask(umask);
  }
}

/**
 * Returns the entries of the chunks of a file. Throws `CorruptDataError` if the repository lacks one of them, or if
 * their lengths do not add up to the size of the file.
 */
function entriesOf({ reader, state }: OpenedState, { chunkIds, sizeBytes }: TreeEntry): number[] {
  const entries: number[] = [];
  let storedBytes = 0;
  for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES) {
    const entry = reader.entryOf(chunkIds, offset);
    entries.push(entry);
    storedBytes += state.filter.lengthOf(entry);
  }
  if (storedBytes === sizeBytes) return entries;
  throw new CorruptDataError(`it has ${sizeBytes} bytes according to the snapshot, but its chunks have ${storedBytes}`);
}
