import { isDiskFull } from '../errors.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { listOptional } from '../repository/listing.ts';
import { assertTrusted, markLive } from './compact/compaction-guard.ts';
import { estimateFreed, planCompaction, withoutRewriting } from './compact/compaction-plan.ts';
import type { CompactionPlan } from './compact/compaction-plan.ts';
import { Compaction } from './compact/compaction.ts';
import { beginPhase, withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { measureRepository } from './repository-size.ts';

export interface CompactOptions {
  /** How much dead space may stay, in percent of what is stored; 5 by default. */
  readonly maxUnusedPercent?: number;
  /** Plans and changes nothing. */
  readonly dryRun?: boolean;
  /** A person's word that snapshots which are gone without a delete are to be given up. */
  readonly forgetLost?: boolean;
}

export interface CompactResult {
  readonly packsBefore: number;
  readonly packsAfter: number;
  readonly packsRemoved: number;
  readonly packsRewritten: number;
  readonly chunksRemoved: number;
  /** Raw bytes of live chunks that moved. */
  readonly bytesCopied: number;
  /** The size of all files of the repository. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** What the file system got back, of a dry run an estimate; negative if a new filter image needed more than was freed. */
  readonly reclaimedBytes: number;
  readonly deadBytesRemaining: number;
  readonly dryRun: boolean;
}

/** Below this rewriting packs costs more than the space is worth. */
const MAX_UNUSED_PERCENT = 5;

/** Gives the space of dead chunks back, with nobody else at work. */
export async function compact(context: OperationContext, options: CompactOptions = {}): Promise<CompactResult> {
  beginPhase(context.progress, 'compacting');
  return await withRepository(context, 'exclusive', async (repository) => {
    const opened = await repository.openState();
    await assertTrusted(opened, options.forgetLost === true);
    const markedIds = await markLive(repository, opened);
    repository.throwIfAborted();
    const wanted = planCompaction(opened.state, opened.listing, options.maxUnusedPercent ?? MAX_UNUSED_PERCENT);
    const bytesBefore = await measureRepository(repository.backend);
    const isDryRun = options.dryRun === true;
    const { plan, bytesCopied } = isDryRun
      ? { plan: wanted, bytesCopied: 0 }
      : await carryOut({ context, repository, opened, markedIds, plan: wanted });
    const bytesAfter = isDryRun
      ? bytesBefore - estimateFreed(plan, opened.listing)
      : await measureRepository(repository.backend);
    const removedCount = plan.removed.length + plan.orphanIds.length;
    return {
      packsBefore: opened.listing.packs.size,
      packsAfter: isDryRun
        ? opened.listing.packs.size - removedCount
        : (await listOptional(repository.backend, 'packs')).length,
      packsRemoved: removedCount,
      packsRewritten: plan.rewritten.length,
      chunksRemoved: countDead(plan),
      bytesCopied,
      bytesBefore,
      bytesAfter,
      reclaimedBytes: bytesBefore - bytesAfter,
      deadBytesRemaining: plan.deadBytesRemaining,
      dryRun: isDryRun,
    };
  });
}

function countDead({ removed, rewritten }: CompactionPlan): number {
  return [...removed, ...rewritten].reduce((total, { pack, liveCount }) => total + pack.chunkCount - liveCount, 0);
}

interface CarryOutOptions {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly opened: OpenedState;
  /** The snapshots whose chunks were marked as live. */
  readonly markedIds: ReadonlySet<string>;
  readonly plan: CompactionPlan;
}

interface CarriedOut {
  readonly plan: CompactionPlan;
  readonly bytesCopied: number;
}

/**
 * On a full disk the filter images and the reserve are given up first: both are made again from what is left. Where live
 * chunks still find no room, only what need not be copied is given back.
 */
async function carryOut({ context, repository, opened, markedIds, plan }: CarryOutOptions): Promise<CarriedOut> {
  const run = async (chosen: CompactionPlan): Promise<CarriedOut> => {
    return { plan: chosen, bytesCopied: await new Compaction({ repository, opened, markedIds, plan: chosen }).run() };
  };
  try {
    return await run(plan);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await repository.order.makeRoom(opened.listing.checkpoints);
  }
  try {
    return await run(plan);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const message = `the disk is full: ${plan.rewritten.length} packs with dead space could not be rewritten; run \`ldm compact\` again when there is room`;
    context.onNotice?.({ kind: 'warning', message });
    return await run(withoutRewriting(plan));
  }
}
