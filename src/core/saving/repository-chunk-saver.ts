import type { FilterState } from '../ldm/filter-state.ts';
import type { PackInfo } from '../ldm/pack-table.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import type { Repository } from '../repository/repository.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { SegmentWriter } from '../repository/segment-writer.ts';
import type { BufferPool } from '../store/buffer-pool.ts';
import type { ChunkWriter, StagedChunk } from '../store/chunk-writer.ts';
import type { Progress } from '../session/progress.ts';
import { EntrySet } from '../snapshots/live-walk.ts';
import { ReusedChunks } from './backup-tally.ts';
import type { ChunkSaver, ChunkSaverOptions, HashingChunk } from './chunk-saver.ts';
import { DistrustedPacks, packIndexes } from './distrusted-packs.ts';
import { OfferedChunks } from './offered-chunks.ts';
import { PendingChunks } from './pending-chunks.ts';
import { ReliedPacks } from './relied-packs.ts';

const NO_BYTES = new Uint8Array();

/** Saves chunks to a repository. The filter state, which it looks them up in, stays as it is. */
export class RepositoryChunkSaver implements ChunkSaver {
  /** `dataAdded`: raw bytes of new chunks and trees. `dataAddedPacked`: bytes of the packs written. */
  readonly counts = { dataBlobs: 0, treeBlobs: 0, dataAdded: 0, dataAddedPacked: 0 };
  readonly reused: ReusedChunks = new ReusedChunks();
  /** Bytes of the chunks that are used and that are in packs that are offline. */
  offlineBytes = 0;
  /** While the last segment is published, and if that has failed. */
  indexing: Promise<void> | undefined;
  readonly #offlineChunks = new EntrySet();
  readonly #repository: Repository;
  readonly #state: FilterState;
  readonly #writers: Readonly<Record<ChunkKind, ChunkWriter>> | undefined;
  readonly packs: ReliedPacks;
  readonly #segments: SegmentWriter;
  readonly #progress: Progress | undefined;
  readonly #sample: ChunkSaverOptions['sample'];
  readonly #packIndexOf: (id: Uint8Array) => number | undefined;
  readonly #distrusted: DistrustedPacks;
  #pending = new PendingChunks();
  readonly #offered: OfferedChunks | undefined;
  /** What another repository keeps of the new chunks. */
  readonly borrowed = { chunks: 0, bytes: 0 };

  /** Without `writes`, stores nothing (dry run). */
  constructor(repository: Repository, state: FilterState, options: ChunkSaverOptions) {
    this.#repository = repository;
    this.#state = state;
    this.#progress = options.progress;
    this.#sample = options.sample;
    const { condemnedPackIds: condemnedIds, offlinePackIds: offlineIds = new Set() } = options;
    const isStoredAgain = (id: Uint8Array): boolean => this.#pending.lengthOf(id, 0) !== undefined;
    this.#packIndexOf = packIndexes(state, isStoredAgain);
    this.#distrusted = new DistrustedPacks(this.#packIndexOf);
    this.packs = new ReliedPacks(state, repository, { condemnedIds, offlineIds });
    this.#segments = repository.segmentWriter(this.packs);
    const onPack = (pack: PackContents): void => this.#onPack(pack);
    const { counts, borrowed } = this;
    const store = (id: Uint8Array, bytes: Uint8Array): Promise<void> | undefined => this.#writers?.data.add(id, bytes);
    if (options.lender !== undefined) this.#offered = new OfferedChunks(options.lender, { store, counts, borrowed });
    if (options.writes) {
      this.#writers = { data: repository.chunkWriter('data', onPack), tree: repository.chunkWriter('tree', onPack) };
    }
  }

  has(ids: Uint8Array, offset: number): boolean {
    return this.#storedLength(ids, offset) !== undefined;
  }

  hasFile(ids: Uint8Array, sizeBytes: number, isEarlier?: boolean): boolean {
    let storedBytes = 0;
    for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) {
      const lengthBytes = this.#storedLength(ids, offset, isEarlier);
      if (lengthBytes === undefined) return false;
      storedBytes += lengthBytes;
    }
    return storedBytes === sizeBytes;
  }

  /** Returns the length of a chunk for which `has` is true. */
  #storedLength(ids: Uint8Array, offset: number, isEarlier?: boolean): number | undefined {
    return this.#pending.lengthOf(ids, offset) ?? this.#indexedLength(ids, offset, isEarlier);
  }

  #indexedLength(ids: Uint8Array, offset: number, isEarlier?: boolean): number | undefined {
    const { filter } = this.#state;
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry)) return undefined;
    const packIndex = filter.packIndexOf(entry);
    if (!this.packs.rely(packIndex, isEarlier)) return undefined;
    this.#sample?.offer(entry, ids, offset);
    const lengthBytes = filter.lengthOf(entry);
    if (this.packs.isOffline(packIndex) && this.#offlineChunks.add(entry)) this.offlineBytes += lengthBytes;
    if (filter.refs(entry) === 0) this.reused.add(entry, lengthBytes);
    return lengthBytes;
  }

  /** Call for an indexed tree that cannot be read. Returns false if it is in no indexed pack. */
  distrust(treeId: Uint8Array): boolean {
    return this.#distrusted.add(treeId);
  }

  /** Looks by name for the pack of a chunk. If it is gone, the chunk counts as missing from now on. */
  async lookForPackOf(id: Uint8Array): Promise<void> {
    await this.packs.lookFor(this.#packIndexOf(id));
  }

  put(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array, isEarlier?: boolean): Promise<void> | undefined {
    if (!this.#takes(kind, id, bytes.length, isEarlier)) return undefined;
    if (kind === 'data' && this.#mayBorrow(id)) return this.#offered!.add(id, bytes);
    return this.#writers?.[kind].add(id, bytes) ?? this.#segments.flushIfLarge();
  }

  stage(bytes: Uint8Array): HashingChunk {
    const writer = this.#writers?.data;
    if (writer === undefined) {
      const id = this.#repository.hasher.dataId(bytes);
      const hashing = { result: async () => id, drop: async () => undefined };
      return { lengthBytes: bytes.length, bytes: Buffer.from(bytes), hashing };
    }
    const staged = writer.stage(bytes);
    const { buffer, lengthBytes } = staged;
    return { lengthBytes, bytes: buffer.subarray(0, lengthBytes), hashing: writer.startHash(staged), staged };
  }

  async putStaged({ hashing, staged, lengthBytes }: HashingChunk): Promise<Uint8Array> {
    const id = await hashing.result();
    const isNew = this.#takes('data', id, lengthBytes);
    if (staged !== undefined) await this.#addStaged('data', isNew ? id : undefined, staged);
    // A dry run has no bytes, and counts what the lender has.
    else if (isNew && this.#offered?.takes(id) === true) await this.#offered.add(id, NO_BYTES, lengthBytes);
    return id;
  }

  drop({ staged }: HashingChunk): void {
    if (staged !== undefined) this.#writers!.data.drop(staged);
  }

  allocate(sizeBytes: number): Buffer {
    return this.#writers?.tree.allocate(sizeBytes) ?? Buffer.allocUnsafeSlow(sizeBytes);
  }

  putLarge(treeId: Uint8Array, tree: StagedChunk, isEarlier?: boolean): Promise<void> | undefined {
    const isNew = this.#takes('tree', treeId, tree.lengthBytes, isEarlier);
    return this.#addStaged('tree', isNew ? treeId : undefined, tree);
  }

  /** Stores a chunk, or frees its memory if `id` is undefined. */
  #addStaged(kind: ChunkKind, id: Uint8Array | undefined, chunk: StagedChunk): Promise<void> | undefined {
    const writer = this.#writers?.[kind];
    if (id !== undefined && kind === 'data' && this.#mayBorrow(id)) {
      const adding = this.#offered!.add(id, chunk.buffer.subarray(0, chunk.lengthBytes));
      writer?.drop(chunk);
      return adding;
    }
    const full = id === undefined ? writer?.drop(chunk) : writer?.addStaged(id, chunk);
    return full ?? this.#segments.flushIfLarge();
  }

  /**
   * Whether a new chunk is offered to the lender. One that is borrowed already, but can no longer be relied on, is stored
   * here: the smaller id decides between two packs of borrowed chunks, so the old one could remain the location.
   */
  #mayBorrow(id: Uint8Array): boolean {
    if (this.#offered === undefined) return false;
    const { filter, packs } = this.#state;
    const entry = filter.find(id, 0);
    const isBorrowed = entry >= 0 && filter.hasLocation(entry) && packs.get(filter.packIndexOf(entry)).isBorrowed;
    return !isBorrowed && this.#offered.takes(id);
  }

  /** Returns whether a chunk must be stored. If so, counts it; from then on it is pending. */
  #takes(kind: ChunkKind, id: Uint8Array, lengthBytes: number, isEarlier?: boolean): boolean {
    const isStored = this.#storedLength(id, 0, isEarlier) !== undefined;
    if (isStored && !this.#distrusted.has(id)) return false;
    this.#pending.add(id, lengthBytes);
    if (kind === 'data') this.counts.dataBlobs += 1;
    else this.counts.treeBlobs += 1;
    this.counts.dataAdded += lengthBytes;
    return true;
  }

  /** Makes all chunks saved so far durable, except for borrowed ones. More may follow. */
  async flush(): Promise<void> {
    await this.#finishPacks();
    await this.#segments.flush();
  }

  async #finishPacks(): Promise<void> {
    await this.#offered?.flush();
    const atOnce = this.#repository.order.isFar ? 2 : 1;
    const writers = this.#writers === undefined ? [] : [this.#writers.data, this.#writers.tree];
    await mapConcurrently(writers, atOnce, async (writer) => writer.finish());
  }

  /** `waits`: for the last segment too. If not, the caller waits for `indexing`, also after a failure. */
  async finish(waits = true): Promise<void> {
    if (this.#writers !== undefined) await this.#offered?.storeBorrowed(this.#repository, (pack) => this.#onPack(pack));
    await this.#finishPacks();
    const indexing = (this.indexing = this.#segments.flush().then(() => void (this.indexing = undefined)));
    indexing.catch(() => undefined);
    if (waits) await indexing;
    // The next checkpoint needs as much memory for these chunks again.
    this.#pending = new PendingChunks();
  }

  /** Indexes the packs written so far, so that the next backup does not store their chunks again. */
  async abandon(): Promise<void> {
    await this.indexing?.catch(() => undefined);
    await this.#writers?.data.abort();
    await this.#writers?.tree.abort();
    await this.#segments.flush();
  }

  /** Returns the memory of the blocks, in buffers for blocks of trees. Call it after `finish`. */
  takeBuffers(): BufferPool | undefined {
    return this.#writers?.tree.takeBuffers(this.#writers.data);
  }

  /** Throws unless this process holds its lock, and every pack that the new snapshot relies on is still there. */
  async assertLockedAndPresent(): Promise<void> {
    await this.packs.assertLockedAndPresent();
  }

  /** What that looks for besides the lock. Undefined if only it can tell, or if the chunks are not durable yet. */
  readonly needs = (): ReturnType<ReliedPacks['needs']> => (this.#segments.isDone ? this.packs.needs() : undefined);

  /** The packs of borrowed chunks that the new snapshot relies on and that were there before. */
  get borrowedPacks(): readonly PackInfo[] {
    return this.packs.relied().filter(({ isBorrowed }) => isBorrowed);
  }

  /** The packs that the new snapshot relies on and that are, as far as is known, in groups that are offline. */
  get offlinePacks(): ReliedPacks['offline'] {
    return this.packs.offline;
  }

  #onPack(pack: PackContents): void {
    this.#segments.add(pack);
    this.packs.addOwn(pack);
    this.counts.dataAddedPacked += pack.sizeBytes;
    if (this.#progress !== undefined) this.#progress.storedBytes += pack.sizeBytes;
  }
}
