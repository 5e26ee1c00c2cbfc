import { isDamage } from '../errors.ts';
import { RebuildNeededError } from '../ldm/filter-state.ts';
import type { FilterState, FoldedSnapshot } from '../ldm/filter-state.ts';
import { addSegment, retainSnapshot } from '../ldm/fold.ts';
import { releaseSnapshots } from '../ldm/fold-release.ts';
import type { RepositoryConfig } from '../format/config.ts';
import type { PackContents } from '../format/pack.ts';
import type { BlockCodec } from '../store/block-codec.ts';
import type { BufferPool } from '../store/buffer-pool.ts';
import { ChunkReader } from '../store/chunk-reader.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { FoldedSnapshots } from './folded-snapshots.ts';
import { OpenedDamage } from './opened-damage.ts';
import { copyFinder } from './other-copies.ts';
import { prefetch } from '../util/prefetch.ts';
import { deletedName, manifestCopyName, segmentName, snapshotName } from '../format/layout.ts';
import { listedBytes } from './listing.ts';
import type { Listing } from './listing.ts';
import { readSegment } from './manifests.ts';
import { StateReader } from './state-reader.ts';
import type { FetchBorrowed } from './state-reader.ts';
import type { WorkSizes } from '../util/work-limits.ts';
import { throwIfAborted } from '../util/cancellation.ts';

/** Enough for the trees of a large directory and for a run of blocks. */
const CACHE_BYTES = 32 * 1024 * 1024;

/** The filter state of everything that was present when the repository was opened. */
export interface OpenedState {
  readonly state: FilterState;
  /** Without condemned files, unless `needsCondemned`. */
  readonly listing: Listing;
  /**
   * Whether some live chunks are only in condemned packs. The state then includes them; nothing new may rely on them.
   */
  readonly needsCondemned: boolean;
  readonly reader: StateReader;
  readonly damage: OpenedDamage;
  /** Snapshots in all checkpoints that were read, usable or not, and those recovered from copies of manifests. */
  readonly remembered: ReadonlyMap<string, FoldedSnapshot>;
  /** The checkpoint that was used. */
  readonly checkpoint: string | undefined;
  /** Names of the segments and manifests that were folded on top of the checkpoint. */
  readonly addedNames: readonly string[];
  /** Number of chunks and snapshots folded on top of the checkpoint, and of the snapshots among them. */
  readonly foldedCount: number;
  readonly foldedSnapshotCount: number;
}

export interface OpenStateOptions extends FilePlace {
  readonly config: RepositoryConfig;
  readonly codec: BlockCodec;
  readonly work: WorkSizes;
  readonly fetchBorrowed?: FetchBorrowed | undefined;
  /** Aborts the opening with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** What was listed a moment ago. */
  readonly listing?: Listing;
  readonly ignoreCheckpoints?: boolean;
  /** The state as this process opened it earlier, to be updated and adopted. If that fails, a checkpoint is used. */
  readonly from?: OpenedState | undefined;
  /** Memory for the blocks to be read, which nothing else uses from now on. */
  readonly buffers?: BufferPool | undefined;
  readonly chunks?: ChunkReader | undefined;
  /** Uses this checkpoint; if it is not usable, only segments and snapshots. */
  readonly onlyCheckpoint?: string;
  readonly isExact?: boolean | undefined;
  /** These two as for `listRepository`. */
  readonly listsPacks?: boolean | undefined;
  readonly isOrdered?: boolean | undefined;
  /** Packs that may be in groups that are offline count as absent: their chunks are to be stored again. */
  readonly offlineIsAbsent?: boolean | undefined;
  /** Called with each folded tree, once the locations of all chunks are known. */
  readonly onTree?: (state: FilterState, tree: Uint8Array) => void;
  /** Predicts the result of a repair: these packs replace some segments, and these snapshots are known. */
  readonly prediction?: {
    readonly segmentsReplaced: ReadonlySet<string>;
    readonly packs: readonly PackContents[];
    readonly remembered: ReadonlyMap<string, FoldedSnapshot>;
  };
}

/** The contents of all checkpoints read, used or not, and the damaged ones. */
export interface CheckpointKnowledge {
  readonly damaged: Map<string, string>;
  readonly segmentIds: Set<string>;
  readonly snapshots: Map<string, FoldedSnapshot>;
}

/** One attempt to bring a state up to date with a listing. */
export class StateOpening {
  readonly #options: OpenStateOptions;
  readonly #listing: Listing;
  readonly #known: CheckpointKnowledge;
  readonly #state: FilterState;
  readonly #origin: Pick<OpenedState, 'needsCondemned' | 'checkpoint' | 'addedNames'>;
  readonly #reader: StateReader;
  readonly #snapshots: FoldedSnapshots;
  readonly #damagedSegments = new Map<string, string>();

  constructor(
    given: Pick<OpenedState, 'listing' | 'state' | 'needsCondemned' | 'checkpoint' | 'addedNames'> & {
      readonly options: OpenStateOptions;
      readonly known: CheckpointKnowledge;
    },
  ) {
    const { backend, codec, work, buffers, onTree, fetchBorrowed } = (this.#options = given.options);
    this.#listing = given.listing;
    this.#known = given.known;
    this.#snapshots = new FoldedSnapshots(given.options, given.known.snapshots);
    this.#state = given.state;
    const { needsCondemned, checkpoint, addedNames } = given;
    this.#origin = { needsCondemned, checkpoint, addedNames };
    const chunks =
      given.options.chunks ?? new ChunkReader(backend, codec, { cacheBytes: work.cacheBytes(CACHE_BYTES), buffers });
    this.#reader = new StateReader(given.state, chunks, {
      findCopies: copyFinder({ backend, seals: given.options.seals }, given.state),
      onTree,
      fetchBorrowed,
    });
  }

  async fold(): Promise<OpenedState> {
    const state = this.#state;
    const { snapshotIds, deletedIds, segmentIds, condemned } = this.#listing;
    const segments = new Set(segmentIds);
    if (!state.isCurrent({ segmentIds: segments, isPresent: (id) => this.#isWhole(id) })) {
      throw new RebuildNeededError('the checkpoint lists segments or packs that are gone');
    }
    const knownBefore = state.filter.liveCount + state.filter.deadCount;
    const addedSegments = segmentIds.filter((id) => !state.segments.has(id));
    const fresh = snapshotIds.filter((id) => !state.snapshots.has(id));
    await this.#addFiles(fresh);
    const deleted = new Set(deletedIds);
    for (const id of snapshotIds) deleted.delete(id);
    const gone = [...state.snapshots.keys()].filter((id) => deleted.has(id));
    const lost = await this.#retainLost();
    await releaseSnapshots(state, gone, this.#reader.readTree);
    return {
      state,
      listing: this.#listing,
      ...this.#origin,
      addedNames: [...this.#origin.addedNames, ...addedSegments.map(segmentName), ...fresh.map(snapshotName)],
      reader: this.#reader,
      damage: new OpenedDamage(state, {
        snapshots: this.#snapshots.damaged,
        segments: this.#damagedSegments,
        checkpoints: this.#known.damaged,
        lostSnapshots: lost,
        lostSegments: [...this.#known.segmentIds].filter((id) => !segments.has(id) && !condemned.segmentIds.has(id)),
      }),
      remembered: this.#known.snapshots,
      foldedCount: state.filter.liveCount + state.filter.deadCount - knownBefore + fresh.length + gone.length,
      foldedSnapshotCount: fresh.length + gone.length,
    };
  }

  /** Retains missing snapshots that any checkpoint, usable or not, or the copy of a manifest has. Returns all of them. */
  async #retainLost(): Promise<string[]> {
    const listed = new Set([...this.#listing.snapshotIds, ...this.#listing.deletedIds]);
    for (const id of this.#listing.manifestCopyIds.filter((each) => !listed.has(each))) {
      if ((await this.#snapshots.recall(id)) !== undefined) continue;
      // A copy that is not there means nothing, even if the listing had its name.
      if ((await this.#options.backend.sizeOf(manifestCopyName(id))) === undefined) continue;
      this.#snapshots.damaged.set(id, `${snapshotName(id)} is gone, and ${manifestCopyName(id)} is unreadable`);
    }
    const lost = [...this.#known.snapshots].filter(([id]) => !listed.has(id));
    const lostIds: string[] = [];
    for (const [id, folded] of lost) {
      if (!this.#state.snapshots.has(id)) await retainSnapshot(this.#state, id, folded, this.#reader.readTree);
      // Another process may have committed, deleted or undeleted it between two of the listings.
      if ((await this.#options.backend.sizesOf([snapshotName(id), deletedName(id)])).size === 0) lostIds.push(id);
    }
    const isKnown = (id: string): boolean => this.#known.snapshots.has(id) || this.#snapshots.damaged.has(id);
    return [...lostIds, ...this.#listing.lostCommitIds.filter((id) => !isKnown(id))];
  }

  /** On another machine, the manifests are asked for together with the segments. */
  async #addFiles(snapshotIds: readonly string[]): Promise<void> {
    const { readsAtOnce } = this.#options.backend;
    const ids = readsAtOnce > 1 ? snapshotIds.slice(0, readsAtOnce) : [];
    const ahead = new Map(ids.map((id) => [id, this.#snapshots.read(id)]));
    try {
      await this.#addSegments();
      await this.#retain(snapshotIds, async (id) => ahead.get(id) ?? this.#snapshots.read(id));
    } finally {
      await Promise.allSettled(ahead.values());
    }
  }

  async #addSegments(): Promise<void> {
    const { backend, prediction, signal, work } = this.#options;
    const read = async (id: string): Promise<PackContents[]> => readSegment(this.#options, id);
    const known = new Set([...this.#state.segments, ...(prediction?.segmentsReplaced ?? [])]);
    const fresh = this.#listing.segmentIds.filter((id) => !known.has(id));
    for await (const [id, packs] of prefetch(fresh, backend.readsAtOnce, read)) {
      throwIfAborted(signal);
      try {
        this.#addSegment(id, await packs);
        work.assertIndexFits(this.#state.filter.memoryBytes);
      } catch (error) {
        if (!isDamage(error)) throw error;
        this.#damagedSegments.set(id, error.message);
      }
    }
    if (prediction !== undefined) this.#addSegment('predicted', prediction.packs);
  }

  #addSegment(id: string, contents: readonly PackContents[]): void {
    const sizes = new Map(contents.map((pack) => [pack.id, pack.sizeBytes]));
    addSegment(this.#state, id, contents, (packId) => listedBytes(this.#listing, packId) >= sizes.get(packId)!);
  }

  /** Returns whether a pack has at least its full length: a truncated one must not look stored. */
  #isWhole(packId: string): boolean {
    const { packs } = this.#state;
    const sizeBytes = listedBytes(this.#listing, packId);
    const index = packs.find(packId);
    return sizeBytes >= (index === undefined ? 0 : packs.get(index).sizeBytes);
  }

  async #retain(ids: readonly string[], readOne: FoldedSnapshots['read']): Promise<void> {
    const { backend, signal } = this.#options;
    for await (const [id, read] of prefetch(ids, backend.readsAtOnce, readOne)) {
      throwIfAborted(signal);
      const folded = await read;
      if (folded !== undefined) await retainSnapshot(this.#state, id, folded, this.#reader.readTree);
    }
  }
}
