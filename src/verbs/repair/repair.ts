import { CorruptDataError, isDamage } from '../../core/errors.ts';
import type { LdmError } from '../../core/errors.ts';
import { condemnationName, RESERVE_NAME } from '../../core/format/layout.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { assertAllOnline, withoutCondemned } from '../../core/repository/listing.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { findWrongCheckpoints } from '../../core/damage/state-comparison.ts';
import { findDamage } from '../../core/damage/damage-findings.ts';
import { FileSizeCheck } from '../../core/damage/file-sizes.ts';
import { damagedNames } from '../../core/session/findings.ts';
import type { Finding } from '../../core/session/findings.ts';
import { SHARED_BLOCK_BYTES, surveyRepository } from '../../core/damage/repository-survey.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { uncachedContext } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { withSureListings } from '../../core/repository/sure-listing.ts';
import { extensionOf } from '../../core/session/extension.ts';
import {
  findLostSnapshots,
  repairConfig,
  repairRealm,
  repairDeleted,
  repairManifestCopies,
  repairManifests,
} from './manifest-repair.ts';
import { repairCommits } from './commit-repair.ts';
import { repairCopies, repairMetadata } from './copy-repair.ts';
import { repairPacks } from './pack-repair.ts';
import { PackJudge } from './pack-judge.ts';
import { surveyPacks } from './pack-survey.ts';
import type { PackSurvey } from './pack-survey.ts';
import { predictState } from './prediction.ts';
import type { ChunkSource } from '../../core/session/chunk-source.ts';
import type { FetchedChunk, FetchedChunks } from '../../core/healing/domain-chunks.ts';
import { RepairPlan } from './repair-plan.ts';
import { roomForCopies } from './room.ts';
import type { RepairAction } from './repair-plan.ts';
import { forgetSnapshots } from '../../core/session/repository-memory.ts';

export type { RepairAction } from './repair-plan.ts';

export interface RepairOptions {
  /** Only finds out what would be done and what would remain. */
  readonly dryRun?: boolean;
  /** Where to fetch what the repository has lost. A dry run fetches it too, to find out what would remain. */
  readonly fromDomains?: ChunkSource;
  /** Called once with each fetched chunk, in no particular order. */
  readonly onFetched?: (chunk: FetchedChunk) => void;
}

export interface RepairResult {
  readonly actions: readonly RepairAction[];
  /** What cannot be repaired, with the files that it affects. A dry run predicts it. */
  readonly remaining: readonly Finding[];
  readonly dryRun: boolean;
  /** Room that copies of chunks take, at most, with the segment that lists them. For a dry run, with what other domains gave. */
  readonly roomBytes: number;
  /** What other domains gave. Only with `fromDomains`. */
  readonly fetched?: FetchedChunks;
}

/**
 * Rebuilds segments and filter from packs and snapshots. Writes new files and sets damaged ones aside; a repository
 * without damage is not touched. Everything that could be restored before can be restored afterwards.
 */
export async function repair(context: OperationContext, options: RepairOptions = {}): Promise<RepairResult> {
  assertArguments<RepairOptions>(context, options, { dryRun: 'flag', fromDomains: 'source', onFetched: 'call' });
  beginPhase(context.progress, 'repairing');
  if (options.fromDomains === undefined || options.dryRun !== true) return await runRepair(context, options);
  const { withScratchDirectory } = await import('../../core/healing/scratch-directory.ts');
  return await withScratchDirectory(async (scratchDirectory) => runRepair({ ...context, scratchDirectory }, options));
}

async function runRepair(context: OperationContext, options: RepairOptions): Promise<RepairResult> {
  const uncached = uncachedContext(context);
  const sure = { ...uncached, backend: withSureListings(uncached.backend) };
  return await withRepository(sure, 'exclusive', async (repository) => {
    repository.shareBlocks(SHARED_BLOCK_BYTES);
    const judge = new PackJudge(repository);
    // Before the trees are read, so that they are read with their packs.
    const listed = await repository.files.listAll();
    assertAllOnline(listed);
    await judge.judgeListed(withoutCondemned(listed));
    const dryRun = options.dryRun === true;
    const { fetched, ...examined } = await examineAndFetch(context, repository, { ...options, judge, dryRun });
    const { opened, findings, unread, survey } = examined;
    const plan = await makePlan(repository, examined);
    await repairMetadata(plan, repository);
    const copiesMissing = await repairCopies(plan, context, { repository, opened, judge });
    if (!dryRun) {
      // The filter images stay: they may be all that is left of a manifest.
      const makeRoom = async (): Promise<void> => repository.order.remove([RESERVE_NAME], repository.assertLocked);
      forgetSnapshots(context, repository, setAside(plan));
      await plan.carryOut(repository.assertLocked, makeRoom);
      if (plan.actions.length > 0) await repository.order.keepReserve();
    }
    const sizes = new FileSizeCheck();
    const { onTree } = sizes;
    const after = dryRun
      ? await predictState(repository, { opened, survey, onTree })
      : await repository.openState({ ignoreCheckpoints: true, onTree });
    const remaining = [
      ...findings.filter(({ kind }) => kind === 'key-damaged'),
      ...unread,
      ...findLostSnapshots(opened, findings),
      ...(await findDamage(after, judge.unreadReports)),
      ...(await sizes.findings(after)),
      ...((await extensionOf(repository)?.findHoldProblems(repository, after)) ?? []),
      ...copiesMissing,
    ];
    const roomBytes = roomOf(plan.actions) + (dryRun ? (fetched?.bytes ?? 0) : 0);
    return { actions: plan.actions, remaining, dryRun, roomBytes, ...(fetched === undefined ? {} : { fetched }) };
  });
}

/** What a repair begins with. */
interface Examined {
  readonly opened: OpenedState;
  readonly findings: readonly Finding[];
  /** About what the place does not read now. It stays where it is. */
  readonly unread: readonly Finding[];
  readonly survey: PackSurvey;
}

/** Fetched chunks are stored first. Then the state is as if they had never been lost, and an ordinary repair follows. */
async function examineAndFetch(
  context: OperationContext,
  repository: Repository,
  options: RepairOptions & { readonly judge: PackJudge; readonly dryRun: boolean },
): Promise<Examined & { readonly fetched?: FetchedChunks }> {
  const { judge, fromDomains } = options;
  const examined = await examine(context, repository, judge);
  if (fromDomains === undefined) return examined;
  const { fetchLost } = await import('./from-domains.ts');
  const fetched = await fetchLost(context, repository, { ...options, ...examined, fromDomains });
  return fetched.chunks === 0 ? { ...examined, fetched } : { ...(await examine(context, repository, judge)), fetched };
}

async function examine(context: OperationContext, repository: Repository, judge: PackJudge): Promise<Examined> {
  const opened = await repository.openState();
  assertAllOnline(opened.listing);
  const { findings, unread } = await surveyFiles(repository, opened);
  return { opened, findings, unread, survey: await surveyPacks(context, repository, opened, judge) };
}

function roomOf(actions: readonly RepairAction[]): number {
  return actions.reduce((sum, action) => sum + ('roomBytes' in action ? action.roomBytes : 0), 0);
}

function setAside({ actions }: RepairPlan): string[] {
  return actions.flatMap((action) => (action.kind === 'snapshot-quarantined' ? [action.snapshotId] : []));
}

/** What a disk cannot read now may be sound later, or in a copy of the disk: only what is wrong is set aside. */
async function surveyFiles(
  repository: Repository,
  { listing }: OpenedState,
): Promise<Pick<Examined, 'findings' | 'unread'>> {
  const refusals: string[] = [];
  const isFinding = (error: unknown): error is LdmError => {
    if (!isDamage(error)) return false;
    if (!(error instanceof CorruptDataError)) refusals.push(error.message);
    return true;
  };
  const { findings: all } = await surveyRepository(repository, listing, isFinding);
  const isUnread = (finding: Finding): boolean =>
    'reason' in finding && refusals.some((message) => finding.reason.endsWith(message));
  return { findings: all.filter((finding) => !isUnread(finding)), unread: all.filter(isUnread) };
}

async function makePlan(repository: Repository, found: Examined): Promise<RepairPlan> {
  const { opened, findings, unread } = found;
  const plan = new RepairPlan();
  repairConfig(plan, repository, findings);
  repairRealm(plan, repository, findings);
  repairManifestCopies(plan, repository, opened, found);
  const manifests = new RepairPlan();
  repairManifests(manifests, repository, opened, found);
  repairDeleted(manifests, repository, opened, found);
  repairCommits(plan, repository, { opened, findings, unread, manifests });
  plan.append(manifests);
  repairCondemnations(plan, repository, opened);
  repairPacks(plan, repository, { ...found, roomBytes: await roomForCopies(repository, found.survey) });
  await repairCheckpoints(plan, repository, found);
  return plan;
}

/** Lists of what is about to be removed: without a list its packs and segments simply stay. */
function repairCondemnations(plan: RepairPlan, { order }: Repository, { listing }: OpenedState): void {
  for (const [condemnationId, error] of listing.condemned.damaged) {
    if (!(error instanceof CorruptDataError)) continue;
    plan.add({ kind: 'condemnation-quarantined', condemnationId }, async () =>
      order.quarantine(condemnationName(condemnationId)),
    );
  }
}

/** The filter image is only a cache: what is damaged, or counts differently, is set aside, and a new one is written. */
async function repairCheckpoints(
  plan: RepairPlan,
  repository: Repository,
  { opened, findings, unread }: Examined,
): Promise<void> {
  const damaged = damagedNames(findings, 'checkpoint-damaged');
  const recounted = await repository.openState({ ignoreCheckpoints: true });
  const wrong = await findWrongCheckpoints(repository, opened, recounted);
  for (const name of new Set([...damaged, ...wrong.map((finding) => finding.name)])) {
    plan.add({ kind: 'checkpoint-quarantined', name }, async () => repository.order.quarantine(name));
  }
  // A new one would take the place of all others. What is not readable now may be all that is left of a manifest.
  if (plan.actions.length === 0 || damagedNames(unread, 'checkpoint-damaged').length > 0) return;
  plan.add({ kind: 'checkpoint-rewritten' }, async () => {
    const { state } = await repository.openState({ ignoreCheckpoints: true });
    if (state.isComplete) await repository.writeCheckpoint(state);
  });
}
