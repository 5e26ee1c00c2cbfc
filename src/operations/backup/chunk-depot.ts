import type { FilterState } from '../../filter/filter-state.ts';
import { CHUNK_ID_BYTES } from '../../format/constants.ts';
import type { ChunkKind } from '../../format/chunk-kind.ts';
import type { PackContents } from '../../format/pack.ts';
import type { Repository } from '../../repository/repository.ts';
import type { BufferPool } from '../../store/buffer-pool.ts';
import type { ChunkWriter } from '../../store/chunk-writer.ts';
import type { HeldChunk } from '../../store/chunk-writer.ts';
import type { StartedTask } from '../../workers/task-pool.ts';
import type { IdentifyTask } from '../../workers/tasks.ts';
import type { Progress } from '../context.ts';
import { ReusedChunks } from './backup-tally.ts';
import { ReliedPacks } from './relied-packs.ts';

/** The pack index of a pending chunk: its pack does not have an id yet. */
const PENDING_PACK = 0xffff_fffe;

export interface DepotOptions {
  readonly writes: boolean;
  /** Packs that may be removed at any moment. Their chunks are stored again. */
  readonly condemnedPackIds: ReadonlySet<string>;
  readonly progress?: Progress | undefined;
}

/** Saves chunks: stores those that the LDM filter does not know. */
export class ChunkDepot {
  /** `dataAdded`: raw bytes of new chunks and trees. `dataAddedPacked`: bytes of the packs written. */
  readonly counts = { dataBlobs: 0, treeBlobs: 0, dataAdded: 0, dataAddedPacked: 0 };
  readonly reused: ReusedChunks = new ReusedChunks();
  readonly #repository: Repository;
  readonly #state: FilterState;
  readonly #writers: Readonly<Record<ChunkKind, ChunkWriter>> | undefined;
  readonly #packs: ReliedPacks;
  readonly #progress: Progress | undefined;
  /** Indexes of the packs in which some tree could not be read. */
  readonly #damagedPacks = new Set<number>();
  /** Whether the state had other locations of some chunks, which are lost. */
  #hasRelocated = false;
  #unnamed: PackContents[] = [];
  #unnamedBytes = 0;

  /** Without `writes`, stores nothing (dry run). */
  constructor(repository: Repository, state: FilterState, options: DepotOptions) {
    this.#repository = repository;
    this.#state = state;
    this.#progress = options.progress;
    this.#packs = new ReliedPacks(state, repository.packs, options.condemnedPackIds);
    const onPack = (pack: PackContents): void => this.#onPack(pack);
    if (options.writes) {
      this.#writers = { data: repository.chunkWriter('data', onPack), tree: repository.chunkWriter('tree', onPack) };
    }
  }

  /** Returns whether a chunk is stored in a pack that is safe to use. If so, the new snapshot relies on that pack. */
  has(ids: Uint8Array, offset: number): boolean {
    return this.#relyOn(ids, offset) !== undefined;
  }

  /** Like `has`, for all chunks of a file. Also returns false if their lengths do not add up to the file size. */
  hasFile(ids: Uint8Array, sizeBytes: number): boolean {
    let storedBytes = 0;
    for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) {
      const entry = this.#relyOn(ids, offset);
      if (entry === undefined) return false;
      storedBytes += this.#state.filter.lengthOf(entry);
    }
    return storedBytes === sizeBytes;
  }

  #relyOn(ids: Uint8Array, offset: number): number | undefined {
    const { filter } = this.#state;
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry)) return undefined;
    const packIndex = filter.packIndexOf(entry);
    if (packIndex === PENDING_PACK) return entry;
    if (!this.#packs.rely(packIndex)) return undefined;
    if (filter.refs(entry) === 0) this.reused.add(entry, filter.lengthOf(entry));
    return entry;
  }

  /**
   * Call for an indexed tree that cannot be read. From then on, trees in the same pack are stored again if they turn
   * up. They are not read to test them: without this tree, the backup cannot find the trees below it. Returns false if
   * the tree is in no indexed pack.
   */
  distrust(treeId: Uint8Array): boolean {
    const packIndex = this.#packIndexOf(treeId);
    if (packIndex === undefined || packIndex === PENDING_PACK) return false;
    this.#damagedPacks.add(packIndex);
    return true;
  }

  #packIndexOf(id: Uint8Array): number | undefined {
    const { filter } = this.#state;
    const entry = filter.find(id, 0);
    return entry < 0 || !filter.hasLocation(entry) ? undefined : filter.packIndexOf(entry);
  }

  /** Copies a large chunk and hashes it in another thread. Pass the result to `putHeld` or `drop`. */
  hold(bytes: Uint8Array): HashedChunk {
    const writer = this.#writers?.data;
    if (writer === undefined) {
      const id = this.#repository.hasher.dataId(bytes);
      return { lengthBytes: bytes.length, identified: { settle: async () => id, drop: async () => undefined } };
    }
    const held = writer.hold(bytes);
    return { lengthBytes: bytes.length, identified: writer.startHash(held), held };
  }

  /** Like `put`, for a chunk from `hold`. Returns its id. */
  async putHeld({ identified, held, lengthBytes }: HashedChunk): Promise<Uint8Array> {
    const id = await identified.settle();
    const isNew = !this.has(id, 0);
    if (isNew) this.#count('data', id, lengthBytes);
    if (held === undefined) return id;
    const full = isNew ? this.#writers!.data.addHeld(id, held) : this.#writers!.data.drop(held);
    await (full ?? this.#nameIfMany());
    return id;
  }

  /** Discards a chunk from `hold`. Its id is ignored: it may be computed from memory that is already reused. */
  drop({ held }: HashedChunk): void {
    if (held !== undefined) this.#writers!.data.drop(held);
  }

  /** Stores a chunk if it is new; copies the bytes. If a promise is returned, the caller must wait for it. */
  put(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array): Promise<void> | undefined {
    if (!this.#takes(kind, id, bytes.length)) return undefined;
    return this.#writers?.[kind].add(id, bytes) ?? this.#nameIfMany();
  }

  /** Returns memory for a large tree. Pass it to `putTree`. */
  allocateTree(sizeBytes: number): Buffer {
    return this.#writers?.tree.allocate(sizeBytes) ?? Buffer.allocUnsafeSlow(sizeBytes);
  }

  /** Like `put`, but without a copy. The tree must start at the beginning of memory from `allocateTree`. */
  putTree(id: Uint8Array, tree: HeldChunk): Promise<void> | undefined {
    const writer = this.#writers?.tree;
    const full = this.#takes('tree', id, tree.lengthBytes) ? writer?.addHeld(id, tree) : writer?.drop(tree);
    return full ?? this.#nameIfMany();
  }

  /** Returns whether a chunk must be stored, and counts it if so. */
  #takes(kind: ChunkKind, id: Uint8Array, lengthBytes: number): boolean {
    if (this.has(id, 0) && !this.#isDamaged(id)) return false;
    this.#count(kind, id, lengthBytes);
    return true;
  }

  /** False for a chunk that was stored again: it is now in a pending pack. */
  #isDamaged(id: Uint8Array): boolean {
    return this.#damagedPacks.size > 0 && this.#damagedPacks.has(this.#packIndexOf(id)!);
  }

  /** Makes all chunks saved so far durable: writes their packs and a segment that lists the packs. */
  async finish(): Promise<void> {
    await this.#writers?.data.finish();
    await this.#writers?.tree.finish();
    await this.#nameChunks();
  }

  /**
   * Ends a backup that failed or was interrupted. The packs written so far are indexed, so that the next backup does not
   * store their chunks again. If that fails too, a compaction removes them.
   */
  async abandon(): Promise<void> {
    await this.#writers?.data.abort();
    await this.#writers?.tree.abort();
    await this.#nameChunks();
  }

  /** The memory of the tree blocks, to be used after `finish`. */
  get treeBuffers(): BufferPool | undefined {
    return this.#writers?.tree.buffers;
  }

  /** Removes from the state what this backup has added. Returns false if that is impossible. The last call. */
  leaveState(): boolean {
    const { filter } = this.#state;
    if (this.#hasRelocated) return false;
    filter.forEachEntry((entry) => {
      if (filter.packIndexOf(entry) === PENDING_PACK) filter.forget(entry);
    });
    return true;
  }

  /** Throws unless every pack that the new snapshot relies on is still there. */
  async assertPacksPresent(): Promise<void> {
    await this.#packs.assertPresent();
  }

  #count(kind: ChunkKind, id: Uint8Array, lengthBytes: number): void {
    this.#remember(id, lengthBytes);
    if (kind === 'data') this.counts.dataBlobs += 1;
    else this.counts.treeBlobs += 1;
    this.counts.dataAdded += lengthBytes;
  }

  #nameIfMany(): Promise<void> | undefined {
    return this.#unnamedBytes < this.#repository.sizes.segmentBytes ? undefined : this.#nameChunks();
  }

  #remember(id: Uint8Array, lengthBytes: number): void {
    const { filter } = this.#state;
    const location = { packIndex: PENDING_PACK, blockOffset: 0, offsetInBlock: 0, lengthBytes, storedBytes: 0 };
    const entry = filter.find(id, 0);
    if (entry < 0) filter.insert(id, 0, location);
    else filter.relocate(entry, location);
    this.#hasRelocated ||= entry >= 0;
  }

  #onPack(pack: PackContents): void {
    this.#unnamed.push(pack);
    this.#packs.addOwn(pack);
    this.#unnamedBytes += pack.sizeBytes;
    this.counts.dataAddedPacked += pack.sizeBytes;
    if (this.#progress !== undefined) this.#progress.storedBytes += pack.sizeBytes;
  }

  async #nameChunks(): Promise<void> {
    const packs = this.#unnamed;
    if (packs.length === 0) return;
    // Another process may have removed our lock and these packs; a segment must not list missing packs.
    await this.#repository.assertLocked();
    await this.#packs.assertPacksPresent(packs);
    this.#unnamed = [];
    this.#unnamedBytes = 0;
    await this.#repository.order.publishSegment(packs);
  }
}

/** A chunk whose id is being computed. */
export interface HashedChunk {
  readonly lengthBytes: number;
  readonly identified: StartedTask<IdentifyTask>;
  /** Undefined in a dry run. */
  readonly held?: HeldChunk;
}
