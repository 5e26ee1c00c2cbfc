import { isDiskFull } from '../../errors.ts';
import { carrySnapshots } from '../../filter/fold-carry.ts';
import { addSegment } from '../../filter/fold.ts';
import { FilterState } from '../../filter/filter-state.ts';
import { LdmFilter } from '../../filter/ldm-filter.ts';
import type { Condemned } from '../../format/condemnation.ts';
import type { PackContents } from '../../format/pack.ts';
import { deletedName, isTemporaryName, manifestCopyName } from '../../format/layout.ts';
import type { Condemnations } from '../../repository/condemned.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { Removal, discardCopies } from '../removal.ts';
import type { CompactionPlan } from './compaction-plan.ts';
import { verifyKeptCopies } from './kept-copies.ts';
import { LiveCopier } from './live-copier.ts';

export interface CompactionOptions {
  readonly repository: Repository;
  readonly opened: OpenedState;
  /** The snapshots whose chunks were marked as live. */
  readonly markedIds: ReadonlySet<string>;
  readonly plan: CompactionPlan;
  /** Writes no checkpoint: the room is needed for copies. */
  readonly isDiskFull?: boolean;
}

type Segments = Map<string, PackContents[]>;

interface CopiedLive {
  readonly bytesCopied: number;
  readonly segmentId: string | undefined;
  readonly packs: PackContents[];
}

/** Carries a plan out. The order of its steps is invariant 3 of docs/architecture.md. */
export class Compaction {
  readonly #repository: Repository;
  readonly #opened: OpenedState;
  readonly #markedIds: ReadonlySet<string>;
  readonly #plan: CompactionPlan;
  readonly #isDiskFull: boolean;

  constructor({ repository, opened, markedIds, plan, isDiskFull: isFull = false }: CompactionOptions) {
    this.#repository = repository;
    this.#opened = opened;
    this.#markedIds = markedIds;
    this.#plan = plan;
    this.#isDiskFull = isFull;
  }

  /** Returns the raw bytes that were copied. On a full disk it fails before anything is condemned. */
  async run(): Promise<number> {
    const { removed, rewritten, orphanIds } = this.#plan;
    const doomed = new Set([...removed, ...rewritten].map(({ pack }) => pack.id));
    const unindexed = new Set([...doomed, ...this.#packsGone()]);
    const segments = await this.#readSegments(unindexed);
    const condemned = this.#toCondemn([...segments.replaced.keys()], [...doomed, ...orphanIds]);
    await verifyKeptCopies(this.#repository, this.#opened, condemned);
    const removal = new Removal(this.#repository, condemned, this.#markedIds);
    await removal.prepare();
    const areCheckpointsOutdated = unindexed.size > 0 || this.#areCheckpointsOutdated();
    let bytesCopied: number;
    try {
      const copied = await this.#copyLive(segments.replaced, unindexed);
      ({ bytesCopied } = copied);
      if (areCheckpointsOutdated && !this.#isDiskFull) await this.#writeCheckpoint(segments.kept, unindexed, copied);
      // After this everything is carried out: the longer part is over, and half of the rest would have to be repeated.
      this.#repository.throwIfAborted();
    } catch (error) {
      await removal.abandon();
      throw error;
    }
    await this.#remove(removal, areCheckpointsOutdated);
    return bytesCopied;
  }

  /**
   * What an earlier compaction condemned and did not remove goes too; but not if a chunk is missing that one of those
   * packs may hold, nor if live chunks in one of them could not be copied because the disk is full.
   */
  get #earlier(): Condemnations | undefined {
    const { condemned } = this.#opened.listing;
    const isNeeded = [...condemned.packIds].some((id) => this.#plan.keptIds.has(id));
    return this.#opened.state.isComplete && !isNeeded ? condemned : undefined;
  }

  #toCondemn(segmentIds: readonly string[], packIds: readonly string[]): Condemned {
    const earlier = this.#earlier;
    return {
      segmentIds: [...new Set([...segmentIds, ...(earlier?.segmentIds ?? [])])],
      packIds: [...new Set([...packIds, ...(earlier?.packIds ?? [])])],
      damagedIds: [...(earlier?.damagedIds ?? [])],
    };
  }

  /** Both phases of the removal. */
  async #remove(removal: Removal, areCheckpointsOutdated: boolean): Promise<void> {
    const { order, assertLocked, files } = this.#repository;
    const { listing } = this.#opened;
    await removal.begin();
    if (areCheckpointsOutdated) await order.remove(listing.checkpoints, assertLocked);
    await order.remove(this.#copiesGivenUp(), assertLocked);
    await removal.removeFiles();
    await order.remove(
      listing.deletedIds.map((id) => deletedName(id)),
      assertLocked,
    );
    await removal.end(this.#earlier?.ids);
    const temporary = (await files.list('tmp')).map((file) => file.name);
    await order.remove(
      temporary.filter((name) => isTemporaryName(name)),
      assertLocked,
    );
  }

  /** Also with nothing to remove: to an older checkpoint a snapshot whose name leaves deleted/ would look lost. */
  #areCheckpointsOutdated(): boolean {
    const { foldedCount, listing, lostSnapshots } = this.#opened;
    return foldedCount + listing.deletedIds.length + lostSnapshots.length + listing.condemned.ids.length > 0;
  }

  /** A copy that outlived its manifest, or the chunks of its snapshot, would make the snapshot look lost. */
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

  /** The segments that name a pack which no segment is to name any more or that are condemned, and the others. */
  async #readSegments(unindexed: ReadonlySet<string>): Promise<{ replaced: Segments; kept: Segments }> {
    const replaced: Segments = new Map();
    const kept: Segments = new Map();
    if (unindexed.size === 0) return { replaced, kept };
    const { condemned, segmentIds } = this.#opened.listing;
    for (const id of segmentIds) {
      const packs = await this.#repository.files.readSegment(id);
      const isReplaced = condemned.segmentIds.has(id) || packs.some((pack) => unindexed.has(pack.id));
      (isReplaced ? replaced : kept).set(id, packs);
    }
    return { replaced, kept };
  }

  /** Copies live chunks to new packs, and indexes these and the other packs of the replaced segments in a new segment. */
  async #copyLive(replaced: Segments, unindexed: ReadonlySet<string>): Promise<CopiedLive> {
    const copier = new LiveCopier(this.#repository, this.#opened.state);
    const others = new Map([...replaced.values()].flat().map((pack) => [pack.id, pack]));
    for (const id of unindexed) others.delete(id);
    try {
      await copier.copy(this.#plan.rewritten);
      const packs = [...copier.packs, ...others.values()];
      const segmentId = packs.length === 0 ? undefined : await this.#repository.order.publishSegment(packs);
      return { bytesCopied: copier.bytesCopied, segmentId, packs };
    } catch (error) {
      await discardCopies(this.#repository, this.#opened.listing, copier.packs).catch(() => undefined);
      throw error;
    }
  }

  /**
   * The checkpoint of the state as it is once everything condemned is removed; it is usable before that too. Without any
   * checkpoint the state is rebuilt at the next start.
   */
  async #writeCheckpoint(kept: Segments, unindexed: ReadonlySet<string>, copied: CopiedLive): Promise<void> {
    const next = unindexed.size === 0 ? this.#opened.state : this.#nextState(kept, copied);
    try {
      if (next?.isComplete === true) await this.#repository.writeCheckpoint(next);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
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
