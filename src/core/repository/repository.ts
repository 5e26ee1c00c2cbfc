import type { Backend, Verify } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { ChunkHasher } from '../crypto/chunk-hasher.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError, RefusedError, isAbsent } from '../errors.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import type { RepositoryConfig } from '../format/config.ts';
import { BlockCodec } from '../store/block-codec.ts';
import { ChunkReader } from '../store/chunk-reader.ts';
import { ChunkWriter } from '../store/chunk-writer.ts';
import type { PackVerifier } from '../store/pack-verifier.ts';
import { PackStore } from '../store/pack-store.ts';
import { DEFAULT_STORE_SIZES, type StoreSizes } from '../store/store-sizes.ts';
import { Compressor } from '../workers/compression.ts';
import { WorkSizes } from '../util/work-limits.ts';
import { acquireSharedPool } from '../workers/shared-pool.ts';
import type { TaskPool } from '../workers/task-pool.ts';
import { openZstd } from '../workers/zstd.ts';
import { acquireAccess } from './access.ts';
import { placePacks } from './groups/place-packs.ts';
import type { PlacedPacks } from './groups/place-packs.ts';
import { type OpenedConfig, currentConfig, openConfig } from './config-file.ts';
import { writeCheckpoint } from './checkpoint-writing.ts';
import type { CheckpointOptions } from './checkpoint-writing.ts';
import { CommitRecords } from './commit-records.ts';
import { DurableOrder } from './durable-order.ts';
import type { RepositoryLock } from './locks/lock.ts';
import { holding } from './needed-files.ts';
import { type PackLooks, SegmentWriter } from './segment-writer.ts';
import { RepositoryFiles } from './repository-files.ts';
import { UnfinishedBackups } from './unfinished-backups.ts';
import { openState } from './open-state.ts';
import type { OpenedState, OpenStateOptions } from './opened-state.ts';
import type { OpenRepositoryOptions } from './open-options.ts';
import { throwIfAborted } from '../util/cancellation.ts';

type StateOptions = Partial<
  Omit<OpenStateOptions, 'backend' | 'seals' | 'config' | 'codec' | 'signal' | 'work' | 'chunks' | 'fetchBorrowed'>
>;

/** An opened repository: its configuration, its lock, and access to its contents. */
export class Repository {
  /** Its directories on this machine: that of the repository first, then those of groups. */
  readonly directories: readonly string[];
  readonly groups: PlacedPacks['groups'];
  readonly files: RepositoryFiles;
  readonly config: RepositoryConfig;
  readonly role: OpenedConfig['role'];
  readonly #seals: Seals;
  readonly hasher: ChunkHasher;
  readonly order: DurableOrder;
  readonly commits: CommitRecords;
  readonly unfinished: UnfinishedBackups;
  readonly packs: PackStore;
  readonly sizes: StoreSizes;
  readonly threads: TaskPool;
  readonly work: WorkSizes;
  /** The name of the last checkpoint that this process has written. */
  lastCheckpoint: string | undefined;
  /** A state that later work of the same command continues, to avoid opening the repository again. */
  keptState: OpenedState | undefined;
  readonly #releaseThreads: () => void;
  readonly #backend: Backend;
  readonly #closePlaced: () => Promise<void>;
  readonly #codec: BlockCodec;
  readonly #lock: RepositoryLock | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onDamagedCheckpoint: OpenRepositoryOptions['onDamagedCheckpoint'];
  readonly #reportedCheckpoints = new Set<string>();
  readonly #assertCurrent: () => Promise<void>;
  readonly #fetchBorrowed: OpenRepositoryOptions['fetchBorrowed'];
  #sharedChunks: ChunkReader | undefined;

  private constructor(
    made: OpenedConfig &
      PlacedPacks &
      Pick<OpenRepositoryOptions, 'signal' | 'threads' | 'onDamagedCheckpoint' | 'fetchBorrowed' | 'packNotes'> & {
        readonly hasher: ChunkHasher;
        readonly lock: RepositoryLock | undefined;
      } & Pick<Repository, 'sizes' | 'work'>,
  ) {
    this.#backend = made.backend;
    this.#closePlaced = made.closePlaced;
    this.directories = [made.backend.localDirectory ?? [], made.backend.otherDirectories ?? []].flat();
    this.groups = made.groups;
    this.files = new RepositoryFiles(made);
    this.config = made.config;
    this.role = made.role;
    this.#seals = made.seals;
    this.hasher = made.hasher;
    this.order = new DurableOrder(made);
    this.commits = new CommitRecords(made, this.order, this.assertLocked);
    this.unfinished = new UnfinishedBackups(made, this.order);
    this.work = made.work;
    const shared = made.threads === undefined ? acquireSharedPool(made.work.threadCount) : undefined;
    const threads = (this.threads = shared?.pool ?? made.threads!);
    this.#releaseThreads = shared?.release ?? (() => undefined);
    const compressor = new Compressor(threads, made.config.compression.level);
    this.#codec = new BlockCodec({ hasher: made.hasher, threads, compressor, seals: made.seals });
    this.packs = new PackStore({ backend: made.backend, codec: this.#codec, packHash: made.config.packHash });
    this.sizes = made.sizes;
    this.#lock = made.lock;
    this.#signal = made.signal;
    this.#onDamagedCheckpoint = made.onDamagedCheckpoint;
    this.#assertCurrent = made.assertCurrent;
    this.#fetchBorrowed = made.fetchBorrowed;
  }

  /**
   * Reads the configuration and acquires the lock; reads it again if the master key was rotated meanwhile. Throws before
   * that without the zstd library: it looks like damage.
   */
  static async open(options: OpenRepositoryOptions): Promise<Repository> {
    const { backend, signal, threads, onDamagedCheckpoint, fetchBorrowed, packNotes } = options;
    const { storeSizes: sizes = DEFAULT_STORE_SIZES } = options;
    const work = new WorkSizes(options.limits);
    openZstd();
    const readConfig = async (): Promise<OpenedConfig> => {
      const config = await openConfig(backend, options.unlock);
      options.onConfig?.(config);
      return config;
    };
    if (options.firstReads !== undefined) backend.readAhead?.(options.firstReads);
    const first = await readConfig();
    backend.useCache?.(first.config);
    const lock = await acquireAccess(options);
    if (options.nextReads !== undefined) backend.readAhead?.(options.nextReads);
    try {
      const opened = lock === undefined ? first : await currentConfig(first, readConfig);
      const hasher = new ChunkHasher(opened.config.chunkHash, Buffer.from(opened.config.idKey, 'hex'));
      const placed = await placePacks(backend, { ...opened, ...opened.config }, options);
      const given = { signal, sizes, work, threads, onDamagedCheckpoint, fetchBorrowed, packNotes };
      return new Repository({ ...opened, ...placed, ...given, hasher, lock });
    } catch (error) {
      await lock?.release().catch(() => undefined);
      throw error;
    }
  }

  /** Opens the filter state of everything that is present now. */
  async openState(options: StateOptions = {}): Promise<OpenedState> {
    const opened = await openState({
      fetchBorrowed: this.#fetchBorrowed,
      isExact: this.#lock?.mode === 'exclusive',
      backend: this.#backend,
      seals: this.#seals,
      config: this.config,
      codec: this.#codec,
      signal: this.#signal,
      work: this.work,
      chunks: this.#sharedChunks,
      ...options,
    });
    this.commits.saw(opened.listing.lastCommit);
    for (const [name, reason] of opened.damage.checkpoints) {
      if (!this.#reportedCheckpoints.has(name)) this.#onDamagedCheckpoint?.(name, reason);
      this.#reportedCheckpoints.add(name);
    }
    return opened;
  }

  /** From now on, all openings of the state and verifiers of packs share one cache, to read each block of trees once. */
  shareBlocks(usualBytes: number): void {
    const options = { cacheBytes: this.work.cacheBytes(usualBytes) };
    this.#sharedChunks = new ChunkReader(this.#backend, this.#codec, options);
  }

  /** Verifies packs. `listed`: their sizes by id, as they were listed. */
  packVerifier(listed?: ReadonlyMap<string, number>): PackVerifier {
    return this.packs.createVerifier({ listed, keptTrees: this.#sharedChunks });
  }

  /** Writes chunks of one kind to new packs. `onPack` is called with each pack once it is published. */
  chunkWriter(kind: ChunkKind, onPack: (pack: PackContents) => void): ChunkWriter {
    const { order: sink, sizes, config, work } = this;
    const given = { packHash: config.packHash, codec: this.#codec, blocksAtOnce: work.atOnce };
    return new ChunkWriter({ sink, kind, sizes, ...given, onPack });
  }

  /** Indexes new packs. `looks`: says whether they still exist. */
  segmentWriter(looks: PackLooks): SegmentWriter {
    const { order, assertLocked: verifyLock, sizes } = this;
    const publish = async (packs: readonly PackContents[], verify: Verify): Promise<string> =>
      order.publishSegment(packs, verify);
    return new SegmentWriter({ publish, verifyLock, looks, segmentBytes: sizes.segmentBytes });
  }

  /** Returns the error to report: if the lock of this process is gone, others have removed the file that is missing. */
  async explain(error: unknown): Promise<unknown> {
    if (!isAbsent(error) && !(error instanceof CorruptDataError)) return error;
    if (this.#lock === undefined) return (await this.staleness()) ?? error;
    try {
      if (await repositoryExists(this.#backend)) await this.#lock.assertHeld();
    } catch (lost) {
      if (lost instanceof RefusedError) return lost;
    }
    return error;
  }

  /** Returns the error to report if the master key was rotated since, and no lock prevented it: what is new looks damaged. */
  async staleness(): Promise<RefusedError | undefined> {
    if (this.#lock !== undefined) return undefined;
    const error = await this.#assertCurrent().catch((reason: unknown) => reason);
    return error instanceof RefusedError ? error : undefined;
  }

  /** Whether another process has taken the lock of this process over. False if that cannot be found out. */
  async isLockLost(): Promise<boolean> {
    return (await this.assertLocked().catch((reason: unknown) => reason)) instanceof RefusedError;
  }

  readonly throwIfAborted = (): void => throwIfAborted(this.#signal);
  /** Replaces the lock, then looks for what has changed. Throws if it was lost. */
  readonly renewLock = async <T>(look: () => Promise<T>): Promise<T> => this.#lock?.renew(look) ?? look();

  /** Throws if the lock of this process is gone: it may have been suspended while another process reclaimed space. */
  readonly assertLocked: Verify = holding(() => this.#writersLock);

  /** Like `assertLocked`. Returns the sizes of those of the files that exist: without groups, one request for both. */
  async lockedSizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return await this.#writersLock.heldSizesOf(this.#backend, names);
  }

  get #writersLock(): RepositoryLock {
    if (this.#lock === undefined) throw new RefusedError('the repository is open for reading only');
    return this.#lock;
  }

  /** Writes a checkpoint of a complete state, and removes older ones. See `writeCheckpoint`. */
  async writeCheckpoint(state: FilterState, options?: CheckpointOptions): Promise<void> {
    const isExclusive = this.#lock?.mode === 'exclusive';
    this.lastCheckpoint = await writeCheckpoint(this, state, { ...options, isExclusive });
  }

  async close(): Promise<void> {
    this.#releaseThreads();
    await this.#closePlaced();
    await this.#lock?.release();
  }
}
