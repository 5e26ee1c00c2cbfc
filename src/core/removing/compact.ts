import { isDiskFull } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { REMOVED_BY_COMPACTION } from '../repository/groups/own-metadata.ts';
import type { Repository } from '../repository/repository.ts';
import { commitName } from '../format/layout.ts';
import { assertAllOnline, type Listing } from '../repository/listing.ts';
import { markTrusted } from './compaction-guard.ts';
import { countWithin, estimateFreed, limitRewriting, limitToCondemned, planCompaction } from './compaction-plan.ts';
import type { CompactionPlan } from './compaction-plan.ts';
import { Compaction } from './compaction.ts';
import { describeReseal, findEarlierSeals, type EarlierSeals, type ResealResult } from './earlier-seals.ts';
import { bothOf } from '../util/map-concurrently.ts';
import { assertArguments } from '../session/arguments.ts';
import { withRepository } from '../session/session.ts';
import { memoryKey } from '../session/repository-memory.ts';
import { beginPhase } from '../session/progress.ts';
import type { OperationContext } from '../session/context.ts';
import { extensionOf } from '../session/extension.ts';
import type { GroupMoves } from '../copies/group-moves.ts';
import { deleteExpired } from './kept-deleted.ts';
import { makeRoom, restoreImageAndReserve } from './full-disk.ts';
import { findStaying } from './unindexed-packs.ts';
import type { StayingPacks } from '../session/notices.ts';

export interface CompactOptions {
  /** How much dead space may remain, in percent of the stored bytes. Default: 5. Infinity: any amount. */
  readonly maxUnusedPercent?: number;
  /** The same in bytes, instead of the percentage. */
  readonly maxUnusedBytes?: number;
  /** The total size of the packs that may be rewritten, those with the largest dead part first. Default: any. */
  readonly maxRepackBytes?: number;
  /** Only plans; changes nothing. */
  readonly dryRun?: boolean;
  /** Also rewrites every pack that is sealed under an earlier master key. */
  readonly reseal?: boolean;
  /** Whether missing copies of packs in groups are made, too. Default: true. Copies that are left over always go. */
  readonly makesCopies?: boolean;
  /** Accepts the loss of snapshots that are missing although they were not deleted. Only a person may decide that. */
  readonly forgetLost?: boolean;
}

export interface CompactResult {
  readonly packsBefore: number;
  readonly packsAfter: number;
  readonly packsRemoved: number;
  readonly packsRewritten: number;
  readonly chunksRemoved: number;
  /** Uncompressed bytes of the live chunks that were copied. */
  readonly bytesCopied: number;
  /** The size of all files of the repository. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Space returned to the file system; estimated for a dry run. Negative if a new checkpoint takes more than that. */
  readonly reclaimedBytes: number;
  /** Whether the place keeps it as old versions. */
  readonly keepsRemoved: boolean;
  readonly deadBytesRemaining: number;
  /** Missing if there are none. */
  readonly staying?: StayingPacks;
  readonly dryRun: boolean;
  /** What was done about copies of packs. Only if the repository has groups. */
  readonly copies?: GroupMoves;
  /** Only with the option `reseal`. */
  readonly reseal?: ResealResult;
}

/** With less dead space, rewriting packs costs more than the space is worth. */
const MAX_UNUSED_PERCENT = 5;

/** Returns the space of dead chunks to the file system. No other command may be running. */
export async function compact(context: OperationContext, options: CompactOptions = {}): Promise<CompactResult> {
  assertArguments<CompactOptions>(context, options, {
    maxUnusedPercent: 'number',
    maxUnusedBytes: 'number',
    maxRepackBytes: 'number',
    dryRun: 'flag',
    reseal: 'flag',
    makesCopies: 'flag',
    forgetLost: 'flag',
  });
  beginPhase(context.progress, 'compacting');
  return await withRepository(context, 'exclusive', async (repository) => {
    if (options.dryRun !== true) await deleteExpired(context, repository);
    const first = await planRound(context, repository, options);
    const [listing, staying] = [first.opened.listing, first.staying];
    if (staying !== undefined) context.onNotice?.({ kind: 'unindexed-packs-stay', ...staying });
    const isDryRun = options.dryRun === true;
    const { sizeBytes: bytesBefore } = await repository.files.measure();
    const { rounds, bytesCopied } = isDryRun
      ? { rounds: [first], bytesCopied: 0 }
      : await carryOut({ context, repository, options, first });
    const plans = rounds.map(({ plan }) => plan);
    const copies = await settle(context, repository, options);
    let measured: Measured | undefined;
    if (!isDryRun) {
      await extensionOf(repository)?.releaseUnneeded(context, repository);
      const [wasRestored, whole] = await bothOf(restoreImageAndReserve(repository), repository.files.measure());
      if (!wasRestored) measured = whole;
      // Only now nothing is missing but what was removed: no compaction runs while anything is lost. The copies may have
      // the snapshots of a newer state.
      const exactIn = staying === undefined ? REMOVED_BY_COMPACTION : undefined;
      await repository.groups?.copyMetadata?.(repository.assertLocked, exactIn);
      // What this machine had written and not indexed is gone.
      if (first.opened.state.isComplete && staying?.isAllKept !== true)
        context.memory?.forgetWritten(...memoryKey(context, repository));
    }
    const freedBytes = estimateFreed(first.plan, listing) + (copies?.surplusBytes ?? 0);
    const removedCount = sum(plans.map(({ removed, orphanIds }) => removed.length + orphanIds.length));
    const { sizeBytes: bytesAfter, packCount: packsAfter } = isDryRun
      ? { sizeBytes: bytesBefore - freedBytes, packCount: listing.packs.size - removedCount }
      : (measured ?? (await repository.files.measure()));
    return {
      packsBefore: listing.packs.size,
      packsAfter,
      packsRemoved: removedCount,
      packsRewritten: sum(plans.map(({ rewritten }) => rewritten.length)),
      chunksRemoved: sum(plans.map(countDead)),
      bytesCopied,
      bytesBefore,
      bytesAfter,
      // New copies take space, but do not reduce what was reclaimed.
      reclaimedBytes: bytesBefore - bytesAfter + (isDryRun ? 0 : (copies?.bytesCopied ?? 0)),
      keepsRemoved: repository.files.past.keepsRemoved === true,
      ...(copies === undefined ? {} : { copies }),
      deadBytesRemaining: plans.at(-1)!.deadBytesRemaining,
      ...(staying === undefined ? {} : { staying }),
      dryRun: isDryRun,
      ...(options.reseal === true ? { reseal: await describeReseal(repository, rounds) } : {}),
    };
  });
}

/** Removes copies of packs that are left over in groups, and makes those that are missing. */
async function settle(
  context: OperationContext,
  repository: Repository,
  { makesCopies = true, dryRun = false }: CompactOptions,
): Promise<GroupMoves | undefined> {
  if (repository.groups === undefined) return undefined;
  const { settleCopies } = await import('../copies/group-moves.ts');
  return await settleCopies(context, repository, { makesCopies, dryRun });
}

function countDead({ removed, rewritten }: CompactionPlan): number {
  return sum([...removed, ...rewritten].map(({ pack, liveCount }) => pack.chunkCount - liveCount));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A plan, and the state on which it is based. */
interface Round {
  readonly opened: OpenedState;
  /** The snapshots whose chunks were marked as live. */
  readonly markedIds: ReadonlySet<string>;
  readonly plan: CompactionPlan;
  readonly earlier: EarlierSeals;
  readonly staying: StayingPacks | undefined;
}

function commitNames({ commits }: Listing): string[] {
  return (commits?.numbers ?? []).map((number) => commitName(number));
}

async function planRound(context: OperationContext, repository: Repository, options: CompactOptions): Promise<Round> {
  const opened = await repository.openState();
  assertAllOnline(opened.listing);
  const markedIds = await markTrusted(repository, opened, options.forgetLost === true);
  repository.throwIfAborted();
  const { state, listing } = opened;
  const given =
    options.reseal === true
      ? { packIds: state.packs.ids(), derived: [...listing.checkpoints, ...commitNames(listing)] }
      : { packIds: [], derived: [] };
  const earlier = await findEarlierSeals(repository, given);
  const limit = { percent: options.maxUnusedPercent ?? MAX_UNUSED_PERCENT, bytes: options.maxUnusedBytes };
  const staying = await findStaying(context, repository, opened);
  const whole = planCompaction(state, listing, limit, { resealed: earlier.packs, staying: staying?.packIds });
  const limited = limitRewriting(whole, countWithin(whole, options.maxRepackBytes ?? Infinity));
  const plan = staying?.isAllKept !== true ? limited : limitToCondemned(limited, listing.condemned.packIds);
  return { opened, markedIds, plan, earlier, staying };
}

interface CarryOutOptions {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly options: CompactOptions;
  readonly first: Round;
}

/** On a full disk, first removes the checkpoints and the reserve. Both are written again at the end if possible. */
async function carryOut(given: CarryOutOptions): Promise<CarriedOut> {
  const { repository, first } = given;
  try {
    const replacesCheckpoints = first.earlier.hasDerived;
    return { rounds: [first], bytesCopied: await new Compaction({ repository, ...first, replacesCheckpoints }).run() };
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await makeRoom(repository, first.opened.listing);
  }
  return await carryOutInRounds(given);
}

/**
 * First removes the packs without live chunks, which needs no space for copies. Then rewrites the others, as many at a
 * time as fit on the disk. Each round needs a new plan, because the previous round changed the repository.
 */
async function carryOutInRounds({ context, repository, options }: CarryOutOptions): Promise<CarriedOut> {
  const rounds: Pick<Round, 'plan' | 'earlier'>[] = [];
  let bytesCopied = 0;
  let countMax = 0;
  for (;;) {
    const round = await planRound(context, repository, options);
    const plan = limitRewriting(round.plan, countMax);
    try {
      bytesCopied += await new Compaction({ repository, ...round, plan, isDiskFull: true }).run();
      rounds.push({ plan, earlier: round.earlier });
      if (plan.rewritten.length === round.plan.rewritten.length) return { rounds, bytesCopied };
      if (rounds.length === 1) countMax = Infinity;
    } catch (error) {
      if (!isDiskFull(error) || rounds.length === 0) throw error;
      countMax = Math.floor(plan.rewritten.length / 2);
      if (countMax > 0) continue;
      context.onNotice?.({ kind: 'disk-full', packCount: round.plan.rewritten.length });
      return { rounds, bytesCopied };
    }
  }
}

type Measured = Awaited<ReturnType<Repository['files']['measure']>>;

interface CarriedOut {
  readonly rounds: readonly Pick<Round, 'plan' | 'earlier'>[];
  /** Uncompressed bytes of live chunks. */
  readonly bytesCopied: number;
}
