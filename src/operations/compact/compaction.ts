import { RefusedError, isDiskFull } from '../../errors.ts';
import { carrySnapshots } from '../../filter/fold-carry.ts';
import { addSegment } from '../../filter/fold.ts';
import { FilterState } from '../../filter/filter-state.ts';
import { LdmFilter } from '../../filter/ldm-filter.ts';
import type { Condemned } from '../../format/condemnation.ts';
import type { PackContents } from '../../format/pack.ts';
import {
  baseName,
  condemnationName,
  deletedName,
  isId,
  isTemporaryName,
  manifestCopyName,
  segmentName,
} from '../../repository/layout.ts';
import { listOptional, listRepository, listUnlessMissing } from '../../repository/listing.ts';
import { readSegment } from '../../repository/manifests.ts';
import type { Condemnations } from '../../repository/condemned.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { packName } from '../../store/pack-reader.ts';
import type { CompactionPlan } from './compaction-plan.ts';
import { verifyKeptCopies } from './kept-copies.ts';
import { LiveCopier } from './live-copier.ts';

export interface CompactionOptions {
  readonly repository: Repository;
  readonly opened: OpenedState;
  /** The snapshots whose chunks were marked as live. */
  readonly markedIds: ReadonlySet<string>;
  readonly plan: CompactionPlan;
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

  constructor({ repository, opened, markedIds, plan }: CompactionOptions) {
    this.#repository = repository;
    this.#opened = opened;
    this.#markedIds = markedIds;
    this.#plan = plan;
  }

  /** Returns the raw bytes that were copied. */
  async run(): Promise<number> {
    const { removed, rewritten, orphanIds } = this.#plan;
    const doomed = new Set([...removed, ...rewritten].map(({ pack }) => pack.id));
    const unindexed = new Set([...doomed, ...this.#packsGone()]);
    const segments = await this.#readSegments(unindexed);
    const condemned = this.#toCondemn([...segments.replaced.keys()], [...doomed, ...orphanIds]);
    await verifyKeptCopies(this.#repository, this.#opened, condemned);
    const copied = await this.#copyLive(segments.replaced, unindexed);
    const areCheckpointsOutdated = unindexed.size > 0 || this.#areCheckpointsOutdated();
    if (areCheckpointsOutdated) await this.#writeCheckpoint(segments.kept, unindexed, copied);
    // From here on everything is carried out: the longer part is over, and half of the rest would have to be repeated.
    this.#repository.throwIfAborted();
    await this.#remove(condemned, areCheckpointsOutdated);
    await this.#repository.order.keepReserve();
    return copied.bytesCopied;
  }

  /**
   * What an earlier compaction condemned and did not remove goes too; but not if a chunk is missing that one of those
   * packs may hold, nor if live chunks in one of them could not be copied because the disk is full.
   */
  get #earlier(): Pick<Condemnations, 'ids' | 'segmentIds' | 'packIds'> {
    const { condemned } = this.#opened.listing;
    const isNeeded = [...condemned.packIds].some((id) => this.#plan.keptIds.has(id));
    const mayGo = this.#opened.state.isComplete && !isNeeded;
    return mayGo ? condemned : { ids: [], segmentIds: new Set(), packIds: new Set() };
  }

  #toCondemn(segmentIds: readonly string[], packIds: readonly string[]): Condemned {
    const earlier = this.#earlier;
    return {
      segmentIds: [...new Set([...segmentIds, ...earlier.segmentIds])],
      packIds: [...new Set([...packIds, ...earlier.packIds])],
    };
  }

  /** Both phases of the removal. */
  async #remove({ segmentIds, packIds }: Condemned, areCheckpointsOutdated: boolean): Promise<void> {
    const { order, assertLocked } = this.#repository;
    const { listing } = this.#opened;
    const condemnationIds = [...this.#earlier.ids];
    if (segmentIds.length + packIds.length > 0) condemnationIds.push(await this.#condemn({ segmentIds, packIds }));
    await this.#repository.renewLock();
    await this.#assertNothingNew();
    if (areCheckpointsOutdated) await order.remove(listing.checkpoints, assertLocked);
    await order.remove(this.#copiesGivenUp(), assertLocked);
    await order.remove(
      segmentIds.map((id) => segmentName(id)),
      assertLocked,
    );
    await order.remove(
      packIds.map((id) => packName(id)),
      assertLocked,
    );
    await order.remove(
      listing.deletedIds.map((id) => deletedName(id)),
      assertLocked,
    );
    await order.remove(
      condemnationIds.map((id) => condemnationName(id)),
      assertLocked,
    );
    const temporary = (await listOptional(this.#repository.backend, 'tmp')).map((file) => file.name);
    await order.remove(
      temporary.filter((name) => isTemporaryName(name)),
      assertLocked,
    );
  }

  /**
   * A process that was suspended and lost its lock may have committed a snapshot, or brought one back, since the mark.
   * What it needs may be condemned by now: the next compaction copies that first.
   */
  async #assertNothingNew(): Promise<void> {
    for (const { name } of (await listUnlessMissing(this.#repository.backend, 'snapshots')) ?? []) {
      const id = baseName(name);
      if (!isId(id) || this.#markedIds.has(id)) continue;
      throw new RefusedError(`snapshot ${id.slice(0, 8)} appeared during the compaction; nothing was removed`, {
        hint: 'Run `ldm compact` again.',
      });
    }
  }

  /** Also with nothing to remove: to an older checkpoint a snapshot whose name leaves deleted/ would look lost. */
  #areCheckpointsOutdated(): boolean {
    const { foldedCount, listing, lostSnapshots } = this.#opened;
    return foldedCount + listing.deletedIds.length + lostSnapshots.length + listing.condemned.ids.length > 0;
  }

  /** On a full disk the old checkpoints and the reserve make room for the few bytes of the list. */
  async #condemn(condemned: Condemned): Promise<string> {
    const { order, assertLocked } = this.#repository;
    try {
      return await order.condemn(condemned, assertLocked);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      await order.makeRoom(this.#opened.listing.checkpoints);
      return await order.condemn(condemned, assertLocked);
    }
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
      const packs = await readSegment(this.#repository.backend, id);
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
      await this.#discard(copier).catch(() => undefined);
      throw error;
    }
  }

  /** Not if the new segment may have its name already: then it would index packs that are gone. */
  async #discard(copier: LiveCopier): Promise<void> {
    const { condemned, segmentIds } = this.#opened.listing;
    const before = new Set([...segmentIds, ...condemned.segmentIds]);
    const { segmentIds: now } = await listRepository(this.#repository.backend);
    if (now.every((id) => before.has(id))) await copier.discard();
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
