import { carrySnapshots } from '../filter/fold-carry.ts';
import { addSegment } from '../filter/fold.ts';
import { FilterState } from '../filter/filter-state.ts';
import { LdmFilter } from '../filter/ldm-filter.ts';
import type { PackContents } from '../format/pack.ts';
import { isDiskFull } from '../errors.ts';
import { deletedName, isTemporaryName, manifestCopyName, segmentName } from '../repository/layout.ts';
import { listOptional, listRepository } from '../repository/listing.ts';
import { readSegment } from '../repository/manifests.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { packName } from '../store/pack-reader.ts';
import { assertMarkAgrees, assertTrusted } from './compact/compaction-guard.ts';
import { estimateFreed, planCompaction, withoutRewriting } from './compact/compaction-plan.ts';
import type { CompactionPlan } from './compact/compaction-plan.ts';
import { LiveCopier } from './compact/live-copier.ts';
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
    await assertMarkAgrees(opened);
    repository.throwIfAborted();
    const wanted = planCompaction(opened.state, opened.listing, options.maxUnusedPercent ?? MAX_UNUSED_PERCENT);
    const bytesBefore = await measureRepository(repository.backend);
    const isDryRun = options.dryRun === true;
    const { plan, bytesCopied } = isDryRun
      ? { plan: wanted, bytesCopied: 0 }
      : await carryOut({ context, repository, opened, plan: wanted });
    const bytesAfter = isDryRun
      ? bytesBefore - estimateFreed(plan, opened.listing)
      : await measureRepository(repository.backend);
    const removedCount = plan.removed.length + plan.orphanIds.length;
    return {
      packsBefore: opened.listing.packs.size,
      packsAfter: isDryRun ? opened.listing.packs.size - removedCount : (await repository.backend.list('packs')).length,
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
async function carryOut({ context, repository, opened, plan }: CarryOutOptions): Promise<CarriedOut> {
  const run = async (chosen: CompactionPlan): Promise<CarriedOut> => {
    return { plan: chosen, bytesCopied: await new Compaction(repository, opened, chosen).run() };
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
    const message = `the disk is full: ${plan.rewritten.length} packs that are dead in part could not be rewritten; run \`ldm compact\` again when there is room`;
    context.onNotice?.({ kind: 'warning', message });
    return await run(withoutRewriting(plan));
  }
}

/** The order of these steps is invariant 3 of docs/architecture.md: after each of them the repository is whole. */
class Compaction {
  readonly #repository: Repository;
  readonly #opened: OpenedState;
  readonly #plan: CompactionPlan;

  constructor(repository: Repository, opened: OpenedState, plan: CompactionPlan) {
    this.#repository = repository;
    this.#opened = opened;
    this.#plan = plan;
  }

  /** Returns the raw bytes that were copied. */
  async run(): Promise<number> {
    const { order } = this.#repository;
    const { removed, rewritten, orphanIds } = this.#plan;
    const doomed = new Set([...removed, ...rewritten].map(({ pack }) => pack.id));
    const unnamed = new Set([...doomed, ...this.#packsGone()]);
    const segments = await this.#readSegments(unnamed);
    const copied = await this.#copyLive(segments.replaced, unnamed);
    const next = unnamed.size === 0 ? this.#opened.state : this.#nextState(segments.kept, copied);
    // From here on everything is done: the longer part is over, and half of this would have to be done again.
    this.#repository.throwIfAborted();
    // To an older checkpoint a snapshot whose name leaves deleted/ would look lost.
    const { foldedCount, listing, lostSnapshots } = this.#opened;
    const areCheckpointsOutdated = foldedCount + listing.deletedIds.length + lostSnapshots.length > 0;
    if (unnamed.size > 0 || areCheckpointsOutdated) await this.#replaceCheckpoints(next);
    await this.#remove(this.#copiesGivenUp());
    await this.#remove([...segments.replaced.keys()].map((id) => segmentName(id)));
    await this.#remove([...doomed, ...orphanIds].map((id) => packName(id)));
    await this.#remove(this.#opened.listing.deletedIds.map((id) => deletedName(id)));
    const temporary = (await listOptional(this.#repository.backend, 'tmp')).map((file) => file.name);
    await this.#remove(temporary.filter((name) => isTemporaryName(name)));
    await order.keepReserve();
    return copied.bytesCopied;
  }

  /** Asks for the lock each time: a process that slept must not take away what others rely on since. */
  async #remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#repository.assertLocked();
    await this.#repository.order.remove(names);
  }

  /** A copy that outlived its manifest, or the chunks of its snapshot, would call the snapshot lost. */
  #copiesGivenUp(): string[] {
    const { listing, lostSnapshots } = this.#opened;
    const givenUp = new Set([...listing.deletedIds, ...lostSnapshots]);
    for (const id of listing.snapshotIds) givenUp.delete(id);
    return listing.manifestCopyIds.filter((id) => givenUp.has(id)).map((id) => manifestCopyName(id));
  }

  /** Packs that a segment names and that are gone, which a command that died may leave; but not if they may be missed. */
  #packsGone(): Iterable<string> {
    const { state } = this.#opened;
    return state.isComplete ? state.absentPacks : [];
  }

  /** The segments that name a pack which no segment is to name any more, and the others. */
  async #readSegments(unnamed: ReadonlySet<string>): Promise<{ replaced: Segments; kept: Segments }> {
    const replaced: Segments = new Map();
    const kept: Segments = new Map();
    if (unnamed.size === 0) return { replaced, kept };
    for (const id of this.#opened.listing.segmentIds) {
      const packs = await readSegment(this.#repository.backend, id);
      (packs.some((pack) => unnamed.has(pack.id)) ? replaced : kept).set(id, packs);
    }
    return { replaced, kept };
  }

  /** Live chunks in new packs, and one new segment for these and for the other packs of the segments replaced. */
  async #copyLive(replaced: Segments, unnamed: ReadonlySet<string>): Promise<CopiedLive> {
    const copier = new LiveCopier(this.#repository, this.#opened.state);
    const others = new Map([...replaced.values()].flat().map((pack) => [pack.id, pack]));
    for (const id of unnamed) others.delete(id);
    try {
      await copier.copy(this.#plan.rewritten);
      const packs = [...copier.packs, ...others.values()];
      const segmentId = packs.length === 0 ? undefined : await this.#repository.order.publishSegment(packs);
      return { bytesCopied: copier.bytesCopied, segmentId, packs };
    } catch (error) {
      await this.#discard(copier).catch(() => undefined);
      throw error;
    }
  }

  /** Not if the new segment may have its name already: then it would name packs that are gone. */
  async #discard(copier: LiveCopier): Promise<void> {
    const { segmentIds, packs } = this.#opened.listing;
    const before = new Set(segmentIds);
    const { segmentIds: now } = await listRepository(this.#repository.backend);
    if (now.every((id) => before.has(id))) await copier.discard(packs);
  }

  /** Every older checkpoint names what goes now. Without any the state is rebuilt at the next start. */
  async #replaceCheckpoints(next: FilterState | undefined): Promise<void> {
    try {
      if (next?.isComplete === true) await this.#repository.writeCheckpoint(next);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    await this.#remove(this.#opened.listing.checkpoints);
  }

  /** The state as it will be once the old segments are gone; undefined if a missing chunk makes it incomplete. */
  #nextState(kept: Segments, { segmentId, packs }: CopiedLive): FilterState | undefined {
    const { listing, state } = this.#opened;
    if (!state.isComplete) return undefined;
    const next = new FilterState(new LdmFilter(state.filter.plan));
    const copied = new Set(packs.map((pack) => pack.id));
    const isPresent = (id: string): boolean => listing.packs.has(id) || copied.has(id);
    for (const [id, keptPacks] of kept) addSegment(next, id, keptPacks, isPresent);
    if (segmentId !== undefined) addSegment(next, segmentId, packs, isPresent);
    carrySnapshots(next, state);
    return next;
  }
}

type Segments = Map<string, PackContents[]>;

interface CopiedLive {
  readonly bytesCopied: number;
  readonly segmentId: string | undefined;
  readonly packs: PackContents[];
}
