import { UsageError } from '../../core/errors.ts';
import { hasNanosecondTimes } from '../../core/files/native/native.ts';
import { identityAt } from '../../core/files/target/target-removal.ts';
import { makeTargetRoot } from '../../core/files/target/target-root.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { SnapshotSummary } from '../../core/format/snapshot.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { byteStringFromText, byteStringOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { Progress } from '../../core/session/progress.ts';
import { AbandonedWork } from './abandoned-work.ts';
import { AttributeTally } from './attribute-tally.ts';
import { AHEAD_BYTES_MAX, BlocksAhead } from './blocks-ahead.ts';
import { ContentComparison } from './content-comparison.ts';
import { InPlace } from './in-place.ts';
import { checkMetadataOptions, targetPolicyOf } from './metadata-options.ts';
import { OriginalParents } from './original-parents.ts';
import { deleteUnexpected } from './deletion.ts';
import { checkSelectionPatterns, selectionIn } from './path-selection.ts';
import { RESTORE_KINDS } from './restore-options.ts';
import type { RestoreOptions } from './restore-options.ts';
import { RestoreTally } from './restore-tally.ts';
import type { RestoreDomains } from './from-domains.ts';
import type { RestoreResult } from './restore-result.ts';
import { assertDeletable, checkTargetOptions, overwriteModeOf, realPathOf, targetDirectory } from './restore-target.ts';
import { SavedPlaces } from './saved-places.ts';
import { SetAside, keptAsMessage } from './set-aside.ts';
import { PLAN_BYTES_MAX } from './restore-plan.ts';
import { Restorer } from './restorer.ts';
import { verifyRestored } from './verification.ts';
import { placeOpener, walkSelected } from './selected-steps.ts';
import type { SelectedPlace } from './selected-steps.ts';
import { assertCountable, parseSelector, selectSnapshot } from '../../core/snapshots/select-snapshots.ts';
import { findPlace } from '../../core/repository/snapshot-path.ts';

export type { RestoreOptions } from './restore-options.ts';
export type { OverwriteMode } from './overwrite.ts';
export type { RestoreAction, RestoreResult, RestoredEntry } from './restore-result.ts';
export type { RestoreProblem } from '../../core/session/notices.ts';
export type { UnsetCount } from './attribute-tally.ts';

/** From here on, planning takes longer than starting the threads, which would otherwise start after it. */
const MANY_FILES = 5000;

/**
 * Restores a snapshot or a part of it. Reports everything that cannot be restored, and restores the rest. Never leaves
 * a file with wrong bytes at the target.
 */
export async function restore(context: OperationContext, options: RestoreOptions): Promise<RestoreResult> {
  assertArguments<RestoreOptions>(context, options, RESTORE_KINDS);
  checkTargetOptions(options);
  checkSelectionPatterns(options);
  checkMetadataOptions(options);
  if (options.verify === true && options.dryRun === true)
    throw new UsageError('a dry run writes nothing that could be verified');
  const { fromDomains, onFetched } = options;
  if (fromDomains === undefined) return await runRestore(context, options, undefined);
  const { restoreWithDomains } = await import('./from-domains.ts');
  return await restoreWithDomains(context, { fromDomains, onFetched }, async (scratchDirectory, domains) =>
    runRestore({ ...context, scratchDirectory }, options, domains),
  );
}

async function runRestore(
  context: OperationContext,
  options: RestoreOptions,
  domains: RestoreDomains | undefined,
): Promise<RestoreResult> {
  const { name, path } = parseSelector(options.selector);
  return await withRepository(context, 'read', async (repository) => {
    const { filter } = options;
    const listed = await repository.files.listForReading();
    const snapshots = await repository.files.readSnapshots({ listing: listed });
    const listing = selectSnapshot(context, snapshots, name, { filter });
    const stored = await repository.openState({ listing: listed });
    assertCountable([name], stored.damage.lostSnapshots);
    const opened = (await domains?.complete(repository, stored, { listing, path, patterns: options })) ?? stored;
    const first = await findPlace(opened.reader, listing, path);
    const { onNotice, progress } = context;
    const policy = targetPolicyOf(options, listing.snapshot);
    const tally = new RestoreTally({
      attributes: new AttributeTally(policy, { countsOwners: options.owner !== false }),
      onProblem: (problem) => onNotice?.({ kind: 'restore-problem', ...problem }),
      onEntry: options.onEntry,
      progress,
      remembersUnrestored: options.verify === true,
    });
    const selection = selectionIn(first.directory, options, listing.snapshot.base);
    const dryRun = options.dryRun === true;
    const directory = targetDirectory(options, listing.snapshot, first.directory);
    if (options.delete === true)
      assertDeletable({
        place: first,
        target: directory,
        includes: selection?.kind === 'include',
        repositories: repository.directories,
      });
    const { directoryEntry, parents } = first;
    const isOriginal = !dryRun && options.original === true;
    const created = isOriginal ? new OriginalParents(listing.snapshot.base, parents) : undefined;
    const { path: target, isNew } = dryRun
      ? { path: realPathOf(directory) ?? directory, isNew: false }
      : makeTargetRoot(directory, { isPrivate: directoryEntry !== undefined });
    const targetEntry = isOriginal || isNew ? directoryEntry : undefined;
    if (!dryRun && !hasNanosecondTimes()) onNotice?.({ kind: 'times-in-milliseconds' });
    beginPhase(context.progress, 'restoring');
    const isEverything = path === '' && selection === undefined;
    if (isEverything) announceTotals(context.progress, listing.snapshot.summary);
    const hasManyFiles = isEverything && listing.snapshot.summary.totalFilesProcessed >= MANY_FILES;
    if (hasManyFiles && !dryRun) repository.threads.prepare();
    const place = {
      reader: opened.reader,
      open: placeOpener(first, () => findPlace(opened.reader, listing, path)),
      selection,
    };
    const saved = new SavedPlaces(listing.snapshot, first.directory);
    const abandoned = new AbandonedWork(first);
    const run = { context, options, repository, opened, place, policy, tally, target, targetEntry, saved, abandoned };
    const blocks = await runSteps(run).finally(() => created?.finish(policy, tally));
    warnOfUnknownOwners(context, policy);
    const unmatched = selection?.unmatched() ?? [];
    return {
      snapshotId: listing.id,
      target: options.target === undefined ? directory : byteStringOf(options.target),
      ...tally.result,
      blocksRead: blocks.read,
      blocksNeeded: blocks.needed,
      includesUnmatched: selection?.kind === 'include' ? unmatched : [],
      excludesUnmatched: selection?.kind === 'exclude' ? unmatched : [],
      ...(domains === undefined ? {} : { fetched: domains.fetched }),
    };
  });
}

type Blocks = Restorer['blocks'];

function warnOfUnknownOwners({ onNotice }: OperationContext, { byName, setsOwners }: TargetPolicy): void {
  if (byName === undefined || !setsOwners) return;
  const [users, groups] = [[...byName.unknownUsers], [...byName.unknownGroups]];
  if (users.length + groups.length > 0) onNotice?.({ kind: 'unknown-owners', users, groups });
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
  readonly repository: Repository;
  readonly opened: OpenedState;
  readonly place: SelectedPlace;
  readonly policy: TargetPolicy;
  readonly tally: RestoreTally;
  readonly target: ByteString;
  /** See `RestorerOptions`. */
  readonly targetEntry: TreeEntry | undefined;
  readonly saved: SavedPlaces;
  readonly abandoned: AbandonedWork;
}

async function runSteps(run: RestoreRun): Promise<Blocks> {
  const { context, options, repository, opened, place, policy, tally, target, targetEntry, saved, abandoned } = run;
  const pacer = new Pacer(context);
  const overwrite = overwriteModeOf(options);
  const dryRun = options.dryRun === true;
  const isPartial = place.selection !== undefined;
  const setAside =
    options.delete === true
      ? new SetAside({
          dryRun,
          overwrite,
          isPartial,
          saved,
          target,
          onKept: (aside, name) => tally.note(aside, keptAsMessage(name), 'SET_ASIDE'),
        })
      : undefined;
  const sparse = options.sparse === true;
  const { threads, work } = repository;
  const comparison = new ContentComparison({ state: opened.state, hasher: repository.hasher, pacer });
  // A killed restore can leave the current time on an incomplete file, which `if-newer` would keep.
  const changesFiles = (overwrite === 'if-changed' || overwrite === 'always') && !sparse;
  const inPlace = changesFiles ? new InPlace(opened.state, comparison, policy) : undefined;
  const { planBytesMax = work.cacheBytes(PLAN_BYTES_MAX) } = options;
  const ahead = new BlocksAhead({ ...opened, bytesMax: work.cacheBytes(AHEAD_BYTES_MAX) });
  const limits = { planBytesMax, atOnce: work.atOnce };
  const shared = { opened, ahead, tally, pacer, setAside, inPlace, abandoned, threads, ...limits };
  const restorer = new Restorer({ ...shared, target, targetEntry, policy, overwrite, dryRun, sparse });
  try {
    const writeIfFull = (): Promise<void> | undefined => (restorer.isPlanFull ? restorer.writePlanned() : undefined);
    await walkSelected(place, pacer, {
      observe: (step) => abandoned.observe(step),
      run: (step) => {
        const running = restorer.run(step);
        return running === undefined ? writeIfFull() : running.then(writeIfFull);
      },
    });
    await restorer.finish();
    if (setAside !== undefined) {
      beginPhase(context.progress, 'deleting');
      const identities = repository.directories.map((directory) => identityAt(byteStringFromText(directory)));
      const protectedIdentities = new Set(identities.filter((identity) => identity !== undefined));
      await deleteUnexpected(place, { target, setAside, saved, policy, tally, pacer, dryRun, protectedIdentities });
    }
    restorer.lock();
    if (options.verify === true) {
      beginPhase(context.progress, 'verifying');
      await verifyRestored(place, { opened, target, comparison, tally, pacer });
    }
  } finally {
    await restorer.close();
    await ahead.close();
    setAside?.close();
  }
  return restorer.blocks;
}
