import { bothOf } from '../util/map-concurrently.ts';
import { isDiskFull } from '../errors.ts';
import { carrySnapshots } from '../ldm/fold-carry.ts';
import { addSegment } from '../ldm/fold.ts';
import { FilterState } from '../ldm/filter-state.ts';
import { LdmFilter } from '../ldm/ldm-filter.ts';
import type { Condemned } from '../format/condemnation.ts';
import type { PackContents } from '../format/pack.ts';
import { deletedName, manifestCopyName } from '../format/layout.ts';
import type { CommitMerge } from '../repository/commit-merge.ts';
import type { Condemnations } from '../repository/condemned.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { Removal, discardCopies } from './removal.ts';
import type { CompactionPlan } from './compaction-plan.ts';
import { verifyKeptCopies } from './kept-copies.ts';
import { LiveCopier } from './live-copier.ts';

interface CompactionOptions {
  readonly repository: Repository;
  readonly opened: OpenedState;
  /** The snapshots whose chunks were marked as live. */
  readonly markedIds: ReadonlySet<string>;
  readonly plan: CompactionPlan;
  /** Writes a new checkpoint and commit record even if nothing changes. */
  readonly replacesCheckpoints?: boolean;
  /** Writes no checkpoint, because its space is needed for copies. */
  readonly isDiskFull?: boolean;
}

/** More are merged to one: the next command with the exclusive lock reads all of them. */
const COMMIT_RECORDS_KEPT = 16;

type Segments = Map<string, PackContents[]>;

interface CopiedLive {
  readonly bytesCopied: number;
  readonly segmentId: string | undefined;
  readonly packs: PackContents[];
}

/** Carries out a plan. The order of its steps is invariant 3 in docs/ARCHITECTURE.md. */
export class Compaction {
  readonly #repository: Repository;
  readonly #opened: OpenedState;
  readonly #markedIds: ReadonlySet<string>;
  readonly #plan: CompactionPlan;
  readonly #isDiskFull: boolean;
  readonly #replacesCheckpoints: boolean;
  #merge: CommitMerge | undefined;

  constructor(options: CompactionOptions) {
    this.#repository = options.repository;
    this.#opened = options.opened;
    this.#markedIds = options.markedIds;
    this.#plan = options.plan;
    this.#isDiskFull = options.isDiskFull === true;
    this.#replacesCheckpoints = options.replacesCheckpoints === true;
  }

  /** Returns the number of uncompressed bytes copied. On a full disk, fails before anything is condemned. */
  async run(): Promise<number> {
    const { removed, rewritten, orphanIds } = this.#plan;
    const doomed = new Set([...removed, ...rewritten].map(({ pack }) => pack.id));
    const unindexed = new Set([...doomed, ...this.#packsGone()]);
    const segments = await this.#readSegments(unindexed);
    const condemned = this.#toCondemn([...segments.replaced.keys()], [...doomed, ...orphanIds]);
    await verifyKeptCopies(this.#repository, this.#opened, condemned);
    const { lastCommit } = this.#opened.listing;
    const removal = new Removal(this.#repository, condemned, { snapshotIds: this.#markedIds, lastCommit });
    await removal.prepare();
    const areCheckpointsOutdated = unindexed.size > 0 || this.#areCheckpointsOutdated();
    let bytesCopied: number;
    try {
      this.#merge = await this.#prepareMerge();
      const copied = await this.#copyLive(segments.replaced, unindexed);
      ({ bytesCopied } = copied);
      if (areCheckpointsOutdated && !this.#isDiskFull) await this.#writeCheckpoint(segments.kept, unindexed, copied);
      // From here on nothing interrupts the compaction: most work is done, and half of the rest would be repeated.
      this.#repository.throwIfAborted();
    } catch (error) {
      await removal.abandon();
      await this.#merge?.discard();
      throw error;
    }
    try {
      await this.#remove(removal, areCheckpointsOutdated);
    } finally {
      await this.#merge?.discard();
    }
    return bytesCopied;
  }

  /**
   * Returns the files that an earlier compaction condemned but did not remove; they are removed too. Returns undefined
   * if one of those packs may hold a missing chunk, or holds live chunks that a full disk leaves no space to copy.
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

  /** Runs both phases of the removal. */
  async #remove(removal: Removal, areCheckpointsOutdated: boolean): Promise<void> {
    const { order, assertLocked, files } = this.#repository;
    const { listing } = this.#opened;
    await removal.begin();
    if (areCheckpointsOutdated) await order.removeInTurn([listing.checkpoints], assertLocked, true);
    const records = this.#merge && (await this.#repository.commits.publishMerge(this.#merge));
    const after = listing.deletedIds.map((id) => deletedName(id));
    await removal.removeFiles({ records, copies: this.#copiesGivenUp(), after });
    const [temporary] = await bothOf(files.list('tmp'), removal.end(this.#earlier?.ids));
    await order.remove(
      temporary.map((file) => file.name),
      assertLocked,
    );
  }

  /** True even if nothing is removed: a snapshot that leaves deleted/ would look lost to an older checkpoint. */
  #areCheckpointsOutdated(): boolean {
    const { foldedCount, listing, damage } = this.#opened;
    const goneCount = listing.deletedIds.length + damage.lostSnapshots.length;
    return this.#replacesCheckpoints || foldedCount + goneCount + listing.condemned.ids.length > 0;
  }

  /**
   * A record that has a reclaimed snapshot would call it lost. To machines that have seen a snapshot without a record, the
   * new one shows that it was reclaimed. Undefined if the records may stay as they are.
   */
  async #prepareMerge(): Promise<CommitMerge | undefined> {
    const { commits, deletedIds } = this.#opened.listing;
    const ids = this.#markedIds;
    if (commits === undefined || (commits.end === 0 && ids.size + deletedIds.length === 0)) return undefined;
    const { snapshotIds, numbers } = commits;
    const isSame = snapshotIds.size === ids.size && [...snapshotIds].every((id) => ids.has(id));
    const isKept = isSame && deletedIds.length === 0;
    if (isKept && numbers.length <= COMMIT_RECORDS_KEPT && !this.#replacesCheckpoints) return undefined;
    return await this.#repository.commits.prepareMerge(commits, [...ids]);
  }

  /** If a copy remained after its manifest or chunks, also one that a wrong listing lacks, the snapshot would look lost. */
  #copiesGivenUp(): string[] {
    const { listing, damage } = this.#opened;
    const givenUp = new Set([...listing.deletedIds, ...damage.lostSnapshots]);
    for (const id of listing.snapshotIds) givenUp.delete(id);
    return [...givenUp].map((id) => manifestCopyName(id));
  }

  /** Returns packs that a segment lists but that do not exist, left by a killed command. None if they may be needed. */
  #packsGone(): Iterable<string> {
    const { state } = this.#opened;
    return state.isComplete ? state.absentPacks : [];
  }

  /** Returns the segments that are condemned or list a pack that is no longer to be indexed, and the other segments. */
  async #readSegments(unindexed: ReadonlySet<string>): Promise<{ replaced: Segments; kept: Segments }> {
    const replaced: Segments = new Map();
    const kept: Segments = new Map();
    if (unindexed.size === 0) return { replaced, kept };
    const { condemned, segmentIds } = this.#opened.listing;
    const { files } = this.#repository;
    for await (const [id, segment] of files.prefetch(segmentIds, async (one) => files.readSegment(one))) {
      const packs = await segment;
      const isReplaced = condemned.segmentIds.has(id) || packs.some((pack) => unindexed.has(pack.id));
      (isReplaced ? replaced : kept).set(id, packs);
    }
    return { replaced, kept };
  }

  /** Copies live chunks to new packs. Writes a new segment for them and the other packs of the replaced segments. */
  async #copyLive(replaced: Segments, unindexed: ReadonlySet<string>): Promise<CopiedLive> {
    const copier = new LiveCopier(this.#repository, this.#opened);
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
   * Writes a checkpoint of the state after everything condemned is removed. It is usable before that, too. If there is
   * no checkpoint, the next command rebuilds the state.
   */
  async #writeCheckpoint(kept: Segments, unindexed: ReadonlySet<string>, copied: CopiedLive): Promise<void> {
    const next = unindexed.size === 0 ? this.#opened.state : this.#nextState(kept, copied);
    try {
      if (next?.isComplete === true)
        await this.#repository.writeCheckpoint(next, { leaving: this.#opened.listing.checkpoints });
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }

  /** Returns the state after the old segments are removed, or undefined if a missing chunk makes it incomplete. */
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
