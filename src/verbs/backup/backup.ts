import type { BackupResult } from '../../core/saving/backup-result.ts';
import { BackendError, UsageError } from '../../core/errors.ts';
import { encodeSnapshot } from '../../core/format/snapshot.ts';
import { snapshotName } from '../../core/format/layout.ts';
import { assertCondemnationsReadable } from '../../core/repository/condemned.ts';
import { storeVerified } from './relying-run.ts';
import { BACKUP_KINDS } from './backup-options.ts';
import type { BackupOptions } from './backup-options.ts';
import type { StoredSources } from './backup-run.ts';
import { Exclusion } from '../../core/sources/exclusion.ts';
import { manifestsWithoutCopy } from '../../core/saving/manifest-copies.ts';
import { OwnRepository } from '../../core/sources/own-repository.ts';
import { warnOfDamage, warnOfSources } from '../../core/saving/problems.ts';
import type { SourceProblem } from '../../core/session/notices.ts';
import { marksOf, snapshotTime } from '../../core/saving/snapshot-manifest.ts';
import { planSources } from '../../core/sources/source-plan.ts';
import type { SourcePlan } from '../../core/sources/source-plan.ts';
import { planStream } from '../../core/saving/stream-tree.ts';
import { keepState, refreshCheckpoint } from '../../core/saving/checkpointing.ts';
import { commitSnapshots } from '../../core/saving/commit-snapshots.ts';
import { PackGoneError } from '../../core/saving/relied-packs.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';

export type { BackupOptions } from './backup-options.ts';
export type { Continued } from '../../core/saving/backup-result.ts';
export type { BackupEntry } from '../../core/saving/entry-listing.ts';
export type { SmallChunks } from '../../core/saving/changing-files.ts';
export type { ReusedShare } from '../../core/saving/reused-sample.ts';
export type { StreamedFile } from '../../core/saving/content-stream.ts';
export type { SkippedRepository } from '../../core/sources/own-repository.ts';
export type { SourceProblem } from '../../core/session/notices.ts';

/** Backs up the sources as one snapshot. Throws if the repository cannot be written; nothing is committed then. */
export async function backup(context: OperationContext, options: BackupOptions): Promise<BackupResult> {
  assertArguments<BackupOptions>(context, options, BACKUP_KINDS);
  const startedAt = new Date();
  const time = snapshotTime(options.time, startedAt);
  const marks = marksOf(options, startedAt);
  const problems: SourceProblem[] = [];
  const onProblem = (problem: SourceProblem): void => {
    problems.push(problem);
    if (context.progress !== undefined) context.progress.errorCount += 1;
    context.onNotice?.({ kind: 'source-problem', ...problem });
  };
  const plan = await planBackup(options, onProblem);
  const exclusion = new Exclusion(options, plan.base, ({ message }) => {
    context.onNotice?.({ kind: 'ignore-file-unreadable', reason: message });
  });
  return await withRepository(context, 'add', async (repository) => {
    const { repositoryId } = repository.config;
    const ownRepository = new OwnRepository({ repositoryId, place: context.backend.localDirectory, base: plan.base });
    const sources = { plan, exclusion, ownRepository, problems, onProblem };
    const given = { context, options, repository, startedAt, time, marks, ...sources };
    const opened = await open(given, false);
    const plannedCount = problems.length;
    try {
      return await saveOpened(given, opened);
    } catch (error) {
      // Where packs were listed, it has vanished just now. A stream cannot be read again.
      const isFinal = opened.listing.arePacksListed || options.stream !== undefined;
      if (!(error instanceof PackGoneError) || isFinal) throw error;
      // Those of files are found again.
      problems.length = plannedCount;
      return await saveOpened(given, await open(given, true));
    }
  });
}

type Given = Omit<Parameters<typeof storeVerified>[0], 'opened'> & { readonly problems: SourceProblem[] };

async function open({ context, options, repository }: Given, listsPacks: boolean): Promise<OpenedState> {
  beginPhase(context.progress, 'opening');
  const opened = await repository.openState({ offlineIsAbsent: options.storesOffline, listsPacks });
  assertCondemnationsReadable(opened.listing.condemned);
  warnOfDamage(context, opened);
  return opened;
}

/** @throws PackGoneError if a pack is gone on which the snapshot relies, after all else was stored */
async function saveOpened(asked: Given, opened: OpenedState): Promise<BackupResult> {
  const given = { ...asked, opened };
  const stored = await storeVerified(given);
  try {
    return await saveStored(given, stored);
  } finally {
    // After a failure, too, nothing may be written once the lock is released.
    await stored.chunks.indexing?.catch(() => undefined);
  }
}

async function saveStored(
  given: Given & { readonly opened: OpenedState },
  stored: Awaited<ReturnType<typeof storeVerified>>,
): Promise<BackupResult> {
  const { context, options, repository, exclusion, ownRepository, problems, opened } = given;
  const { verified, snapshot, tally, chunks, parent, removed, filesMoved, continuation, attributes } = stored;
  warnOfSources(context, tally, ownRepository.skipped);
  warnOfOrder(given, stored);
  const { summary } = snapshot;
  const { continued } = continuation;
  const { incompleteCount: attributesIncomplete } = attributes;
  const { reused, offlineBytes, borrowed } = chunks;
  const counts = {
    verified,
    borrowed,
    removed,
    filesMoved,
    reused,
    offlineBytes,
    continued,
    socketCount: tally.socketCount,
    attributesIncomplete,
  };
  // Patterns do not apply to a stream. Those of a profile are meant for its paths.
  const excludesUnmatched = options.stream === undefined ? exclusion.unmatched() : [];
  const found = { excludesUnmatched, skippedRepositories: ownRepository.skipped };
  const isEncrypted = repository.config.encryption !== undefined;
  const isDryRun = options.dryRun === true;
  const result = { snapshot, isDryRun, isEncrypted, summary, parentId: parent?.id, problems, ...counts, ...found };
  if (isDryRun) return { ...result, snapshotId: undefined };
  // It may have been deleted: meanwhile, or before, if the listing lags behind. A listing must not decide that.
  const isUnchanged = options.skipIfUnchanged === true && parent?.wholeTree === snapshot.tree;
  if (isUnchanged && (await repository.files.exists(snapshotName(parent.id)))) {
    await chunks.indexing;
    await continuation.end(repository).catch(unlessBackendError);
    keepState(repository, opened);
    return { ...result, snapshotId: undefined };
  }
  const manifests = [() => encodeSnapshot(snapshot)];
  const [committed] = await commitSnapshots(given, chunks, manifests, manifestsWithoutCopy(opened));
  warnOfOffline(context, chunks.offlinePacks);
  await continuation.end(repository).catch(unlessBackendError);
  await refreshCheckpoint(given, chunks);
  return { ...result, snapshotId: committed!.id };
}

/** @throws UsageError */
async function planBackup(options: BackupOptions, onProblem: (problem: SourceProblem) => void): Promise<SourcePlan> {
  const { stream, sources, reliesOn, verifyReused, cwd, listed } = options;
  if (stream === undefined) return await planSources(sources, cwd, onProblem, listed);
  if (sources.length > 0) throw new UsageError('a stream and sources cannot be combined');
  if (reliesOn !== undefined)
    throw new UsageError('a stream cannot rely on another domain, because it cannot be read again');
  if (verifyReused !== undefined)
    throw new UsageError('the reused chunks of a stream cannot be verified, because it cannot be read again');
  return planStream(stream);
}

/** A time that the user has given is no sign of a wrong clock. */
function warnOfOrder(
  { context, options }: Parameters<typeof storeVerified>[0],
  { newest, snapshot: { time } }: StoredSources,
): void {
  if (options.time !== undefined || newest === undefined) return;
  if (Date.parse(newest.snapshot.time) > Date.parse(time)) context.onNotice?.({ kind: 'dated-before-newest', newest });
}

function warnOfOffline({ onNotice }: OperationContext, packs: readonly { readonly sizeBytes: number }[]): void {
  const packBytes = packs.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  if (packs.length > 0) onNotice?.({ kind: 'relies-on-offline', packCount: packs.length, packBytes });
}

/** The snapshot is saved. A record that remains is replaced by the next backup of these paths. */
function unlessBackendError(error: unknown): void {
  if (!(error instanceof BackendError)) throw error;
}
