import { UsageError, isDamage } from '../../core/errors.ts';
import { withoutCondemned } from '../../core/repository/listing.ts';
import type { Listing } from '../../core/repository/listing.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { findWrongCheckpoints } from '../../core/damage/state-comparison.ts';
import type { Finding } from '../../core/session/findings.ts';
import { findDamage } from '../../core/damage/damage-findings.ts';
import { type BorrowedFrom, extensionOf } from '../../core/session/extension.ts';
import { PackCheck, wasReadSound } from '../../core/damage/pack-check.ts';
import { CHECK_KINDS } from './check-options.ts';
import type { CheckOptions } from './check-options.ts';
import { findCopyProblems } from './copy-problems.ts';
import { packSelector } from '../../core/damage/pack-selector.ts';
import type { PartOfData } from '../../core/damage/pack-selector.ts';
import { PackAges } from './pack-ages.ts';
import type { VerificationLeft } from './pack-ages.ts';
import { findScope } from './snapshot-scope.ts';
import { FileSizeCheck } from '../../core/damage/file-sizes.ts';
import { findMisplaced } from '../../core/damage/misplaced-files.ts';
import { SHARED_BLOCK_BYTES, surveyRepository } from '../../core/damage/repository-survey.ts';
import type { Survey } from '../../core/damage/repository-survey.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import { type OperationContext, uncachedContext } from '../../core/session/context.ts';
import type { Notice } from '../../core/session/notices.ts';
import { assertCountable, selectSnapshots } from '../../core/snapshots/select-snapshots.ts';
import type { PackReport } from '../../core/store/pack-report.ts';
import { areBeyondRepair, findUnindexedPacks, hasUnindexed, lostSegments, lostSnapshots } from './lost-files.ts';
import { findMetadataProblems } from './metadata-problems.ts';
import { bothOf } from '../../core/util/map-concurrently.ts';

export type { CheckOptions } from './check-options.ts';
export type { AffectedPath, Disagreement, Finding, Impact } from '../../core/session/findings.ts';
export type { PartOfData, ReadData } from '../../core/damage/pack-selector.ts';
export type { VerificationLeft } from './pack-ages.ts';
export type { PackProblem } from '../../core/store/pack-report.ts';

const RECORD_EVERY_BYTES = 256 * 1024 * 1024;

export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly repositoryId: string;
  readonly readData: boolean;
  /** Whether only some snapshots were meant, and what they need. */
  readonly isSelection: boolean;
  readonly snapshotsChecked: number;
  readonly chunksChecked: number;
  readonly packsChecked: number;
  /** Packs whose whole content was read. */
  readonly packsRead: number;
  readonly bytesRead: number;
  /** The ids of all packs that were checked, and of those that were read and have no damaged copy. */
  readonly packIds: readonly string[];
  readonly soundIds: readonly string[];
  /** The size of all packs that were checked. */
  readonly packBytes: number;
  /** What remains to be verified. Only with `maxAgeMs`. */
  readonly left: VerificationLeft | undefined;
  /** What other domains keep for the snapshots. Only if all snapshots are checked. */
  readonly borrowed: readonly BorrowedFrom[];
  /** For which domains the repository keeps chunks. */
  readonly heldFor: readonly string[];
  /** Names of files and directories in the repository that do not belong to ldm. They are ignored. */
  readonly foreignNames: readonly string[];
  /** Names of the groups that could not be reached. */
  readonly offlineGroups: readonly string[];
  /** Whether there are errors, and `repair` would find nothing in this repository that removes any of them. */
  readonly isBeyondRepair: boolean;
}

type Checked = Pick<
  CheckResult,
  'findings' | 'left' | 'snapshotsChecked' | 'chunksChecked' | 'borrowed' | 'heldFor' | 'foreignNames'
> & {
  readonly reports: readonly PackReport[];
  /** Whether there are packs that no readable segment lists. */
  readonly hasUnindexedPacks: boolean;
};

/**
 * Verifies that everything is present and unchanged since it was stored. Changes nothing; with `maxAgeMs`, it records what
 * was verified.
 */
export async function check(context: OperationContext, options: CheckOptions = {}): Promise<CheckResult> {
  assertArguments<CheckOptions>(context, options, CHECK_KINDS);
  const { selectors = [], filter = {}, readData, maxAgeMs } = options;
  const isSelection = selectors.length > 0 || Object.keys(filter).length > 0;
  assertAgeFits(options, isSelection);
  const older: Finding[] = [];
  const onNotice = (notice: Notice): void => {
    if (notice.kind === 'older-state') older.push({ severity: 'warning', ...notice });
    else context.onNotice?.(notice);
  };
  return await withRepository({ ...uncachedContext(context), onNotice }, 'read', async (repository) => {
    beginPhase(context.progress, 'checking');
    repository.shareBlocks(SHARED_BLOCK_BYTES);
    const run = { context, repository, options, isKnown: options.isKnown?.(repository.config.repositoryId) };
    const { findings, reports, hasUnindexedPacks, ...counts } = isSelection
      ? await checkSelection(run, { selectors, filter })
      : await checkAll(run);
    const sizes = reports.map(({ pack }) => pack.sizeBytes);
    return {
      findings: [...older, ...findings],
      repositoryId: repository.config.repositoryId,
      readData: readData !== undefined || maxAgeMs !== undefined,
      isSelection,
      ...counts,
      packsChecked: reports.length,
      packsRead: reports.filter(({ bytesRead }) => bytesRead > 0).length,
      packIds: reports.map(({ pack }) => pack.id),
      soundIds: reports.filter(wasReadSound).map(({ pack }) => pack.id),
      bytesRead: reports.reduce((total, report) => total + report.bytesRead, 0),
      packBytes: sizes.reduce((total, sizeBytes) => total + sizeBytes, 0),
      isBeyondRepair: !hasUnindexedPacks && areBeyondRepair(findings),
      offlineGroups: (repository.groups?.all ?? []).filter(({ isOnline }) => !isOnline).map(({ entry }) => entry.name),
    };
  });
}

interface CheckRun {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly options: CheckOptions;
  readonly isKnown?: ((packId: string) => boolean) | undefined;
}

async function checkAll(run: CheckRun): Promise<Checked> {
  const { context, repository, options } = run;
  const { readData, maxAgeMs } = options;
  // Before the trees are read, so that those in verified packs are read with them.
  const listing = withoutCondemned(await repository.files.listAll({ isExact: true }));
  const first = await surveyRepository(repository, listing, isDamage);
  const { packs, left } = await verifyPacks(run, listing, first);
  const opened = await repository.openState({ isExact: true });
  const survey = opened.needsCondemned ? await surveyRepository(repository, opened.listing, isDamage) : first;
  const unindexed = await findUnindexedPacks(repository, opened, survey);
  const reports = await packs.verify([...survey.packs.values(), ...unindexed.packs]);
  // Of a part of the packs: what other domains keep is in none of them.
  const member = await extensionOf(repository)?.check(context, repository, opened, readData === true);
  const sizes = new FileSizeCheck();
  const { listing: listed } = opened;
  const [recounted, foreignNames] = await bothOf(
    repository.openState({ ignoreCheckpoints: true, listing: listed, onTree: sizes.onTree }),
    repository.files.foreignNames(listed),
  );
  const findings = [
    ...survey.findings,
    ...unindexed.findings,
    ...lostSegments(opened),
    ...(await lostSnapshots(repository, opened)),
    ...(await findWrongCheckpoints(repository, opened, recounted)),
    ...(await findDamage(recounted, reports)),
    ...(await findCopyProblems(repository, recounted, reports)),
    ...(await findMetadataProblems(repository, maxAgeMs === undefined ? readData : true)),
    ...(await sizes.findings(recounted)),
    ...(member?.findings ?? []),
    ...findMisplaced(foreignNames),
  ];
  const chunksChecked = recounted.state.filter.liveCount;
  const { borrowed = [], heldFor = [] } = member ?? {};
  const counts = { snapshotsChecked: survey.snapshotCount, chunksChecked };
  const hasUnindexedPacks = hasUnindexed(opened.listing, survey);
  return { findings, reports, left, hasUnindexedPacks, ...counts, borrowed, heldFor, foreignNames };
}

/** Verifies the packs that segments list. Returns what can verify more of them in the same way. */
async function verifyPacks(
  { context, repository, options, isKnown = () => false }: CheckRun,
  listing: Listing,
  survey: Survey,
): Promise<{ readonly packs: PackCheck; readonly left: VerificationLeft | undefined }> {
  const { readData, maxAgeMs, recordEveryBytes = RECORD_EVERY_BYTES, now = Date.now } = options;
  if (maxAgeMs === undefined) {
    const isRead = packSelector(readData, listing.packs);
    const packs = new PackCheck(context, repository, listing.packs, ({ id }) => isRead(id) && !isKnown(id));
    await packs.verify([...survey.packs.values()]);
    return { packs, left: undefined };
  }
  const { onNotice } = context;
  const limit = readData as PartOfData | undefined;
  const ages = await PackAges.open(repository, survey.packs, { maxAgeMs, limit, recordEveryBytes, now, onNotice });
  const packs = new PackCheck(context, repository, listing.packs, ages.isRead, ages.onReport);
  try {
    await packs.verify(ages.sort(survey.packs.values()));
  } catch (error) {
    // The first error is the one to report.
    await ages.saveStep().catch(() => undefined);
    throw error;
  }
  return { packs, left: await ages.finish() };
}

/** @throws UsageError */
function assertAgeFits({ maxAgeMs, readData, isKnown }: CheckOptions, isSelection: boolean): void {
  if (maxAgeMs === undefined) return;
  if (isSelection) throw new UsageError('a maximum age is for the whole repository, not for some snapshots');
  if (isKnown !== undefined) throw new UsageError('either an age or what is new decides which data is read, not both');
  if (readData !== undefined && (readData === true || 'part' in readData)) {
    throw new UsageError('the maximum age decides which data is read', {
      hint: 'A share or a size, such as 5% or 2GiB, can limit how much of it.',
    });
  }
}

/** Verifies the small files of the repository, and what the chosen snapshots need. Counts nothing again. */
async function checkSelection(
  { context, repository, options: { readData } }: CheckRun,
  choice: Required<Pick<CheckOptions, 'selectors' | 'filter'>>,
): Promise<Checked> {
  const sizes = new FileSizeCheck();
  const opened = await repository.openState({ listsPacks: true, onTree: sizes.onTree });
  const selected = selectSnapshots(context, await repository.files.readSnapshots(), choice);
  assertCountable(choice.selectors, opened.damage.lostSnapshots);
  const survey = await surveyRepository(repository, opened.listing, isDamage);
  const scope = await findScope(
    opened,
    selected.map(({ id }) => id),
  );
  const needed = [...survey.packs.values()].filter(({ id }) => scope.packIds.has(id));
  const isRead = packSelector(readData, new Map(needed.map(({ id, sizeBytes }) => [id, sizeBytes])));
  const packs = new PackCheck(context, repository, opened.listing.packs, ({ id }) => isRead(id));
  const reports = await packs.verify(needed);
  const findings = [
    ...survey.findings,
    ...(await findDamage(opened, reports, scope)),
    ...(await findCopyProblems(repository, opened, reports)),
    ...(await sizes.findings(opened, scope.snapshots)),
  ];
  const counts = { snapshotsChecked: scope.snapshots.size, chunksChecked: scope.chunkCount };
  const hasUnindexedPacks = hasUnindexed(opened.listing, survey);
  const none = { left: undefined, borrowed: [], heldFor: [], foreignNames: [] };
  return { findings, reports, hasUnindexedPacks, ...counts, ...none };
}
