import { chunkIdOf } from '../../crypto/chunk-hasher.ts';
import { RefusedError } from '../../errors.ts';
import type { FilterState } from '../../filter/filter-state.ts';
import { CHUNK_ID_BYTES } from '../../format/constants.ts';
import type { ChunkKind } from '../../format/chunk-kind.ts';
import type { PackContents } from '../../format/pack.ts';
import type { Repository } from '../../repository/repository.ts';
import { ChunkWriter, bytesOfHeld } from '../../store/chunk-writer.ts';
import type { HeldChunk } from '../../store/chunk-writer.ts';
import { packName } from '../../store/pack-reader.ts';
import { Compressor } from '../../workers/compression.ts';
import { identify } from '../../workers/hashing.ts';
import type { StartedTask } from '../../workers/task-pool.ts';
import type { IdentifyTask } from '../../workers/tasks.ts';
import type { Progress } from '../context.ts';
import { ReusedChunks } from './backup-tally.ts';

/** The pack of a chunk that this backup has taken but whose pack has no name yet. */
const PENDING_PACK = 0xffff_fffe;

export interface DepotOptions {
  readonly writes: boolean;
  /** Packs that may be removed at any moment: what they hold is stored again. */
  readonly condemnedPackIds: ReadonlySet<string>;
  readonly progress?: Progress | undefined;
}

/** Takes chunks, and stores those that the LDM filter does not know. */
export class ChunkDepot {
  /** `dataAdded`: raw bytes of the chunks and trees that were new; `dataAddedPacked`: bytes of the packs written. */
  readonly counts = { dataBlobs: 0, treeBlobs: 0, dataAdded: 0, dataAddedPacked: 0 };
  readonly reused: ReusedChunks = new ReusedChunks();
  readonly #repository: Repository;
  readonly #state: FilterState;
  readonly #writers: Readonly<Record<ChunkKind, ChunkWriter>> | undefined;
  /** By pack index: whether the new snapshot needs the pack. */
  readonly #isNeeded: Uint8Array;
  /** By pack index: whether the pack is condemned. */
  readonly #isCondemned: Uint8Array;
  readonly #ownPacks: PackSize[] = [];
  readonly #progress: Progress | undefined;
  /** By index: packs of trees of which something could not be read. */
  readonly #damagedPacks = new Set<number>();
  #unnamed: PackContents[] = [];
  #unnamedBytes = 0;

  /** Without `writes` nothing is stored: a dry run. */
  constructor(repository: Repository, state: FilterState, options: DepotOptions) {
    this.#repository = repository;
    this.#state = state;
    this.#progress = options.progress;
    this.#isNeeded = new Uint8Array(highestIndex(state) + 1);
    this.#isCondemned = new Uint8Array(this.#isNeeded.length);
    state.packs.forEach(({ id }, index) => {
      this.#isCondemned[index] = options.condemnedPackIds.has(id) ? 1 : 0;
    });
    if (options.writes) this.#writers = { data: this.#createWriter('data'), tree: this.#createWriter('tree') };
  }

  /** Whether the repository has a chunk that may be relied on; if so, the new snapshot relies on it from now on. */
  has(ids: Uint8Array, offset: number): boolean {
    return this.#relyOn(ids, offset) !== undefined;
  }

  /** As `has`, for all chunks of a file; false also if they do not add up to its size. */
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
    if (this.#isCondemned[packIndex] === 1) return undefined;
    this.#isNeeded[packIndex] = 1;
    if (filter.refs(entry) === 0) this.reused.add(entry, filter.lengthOf(entry));
    return entry;
  }

  /**
   * For a tree that is here but cannot be read. Whatever comes of the trees in its pack is stored again: those below it
   * are not tried, since nobody knows them without it. False if it is in no pack that has a name.
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

  /** Takes a copy of a large chunk and computes its id beside the caller. To be settled with `putHeld` or `drop`. */
  hold(bytes: Uint8Array): HashedChunk {
    const key = this.#repository.hasher.keyOf('data');
    const writer = this.#writers?.data;
    if (writer === undefined) {
      const id = chunkIdOf(key, bytes);
      return { lengthBytes: bytes.length, identified: { settle: async () => id, drop: async () => undefined } };
    }
    const held = writer.hold(bytes);
    return { lengthBytes: bytes.length, identified: identify(bytesOfHeld(held), key), held };
  }

  /** As `put`, for a chunk that was held; its id. */
  async putHeld({ identified, held, lengthBytes }: HashedChunk): Promise<Uint8Array> {
    const id = await identified.settle();
    const isNew = !this.has(id, 0);
    if (isNew) this.#count('data', id, lengthBytes);
    if (held === undefined) return id;
    const full = isNew ? this.#writers!.data.addHeld(id, held) : this.#writers!.data.drop(held);
    await (full ?? this.#nameIfMany());
    return id;
  }

  /** Forgets a chunk that was held; its id, which nobody wants now, may come from memory that is used again. */
  drop({ held }: HashedChunk): void {
    if (held !== undefined) this.#writers!.data.drop(held);
  }

  /** Takes a chunk; the bytes are copied if they are stored. If a promise is returned, the caller must wait for it. */
  put(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array): Promise<void> | undefined {
    if (!this.#takes(kind, id, bytes.length)) return undefined;
    return this.#writers?.[kind].add(id, bytes) ?? this.#nameIfMany();
  }

  /** Memory for a large tree, to be given back with `putTree`. */
  allocateTree(sizeBytes: number): Buffer {
    return this.#writers?.tree.allocate(sizeBytes) ?? Buffer.allocUnsafeSlow(sizeBytes);
  }

  /** Like `put`, without a copy: takes a tree at the start of memory from `allocateTree`. */
  putTree(id: Uint8Array, tree: HeldChunk): Promise<void> | undefined {
    const writer = this.#writers?.tree;
    const full = this.#takes('tree', id, tree.lengthBytes) ? writer?.addHeld(id, tree) : writer?.drop(tree);
    return full ?? this.#nameIfMany();
  }

  /** Counts a chunk if it is to be stored. */
  #takes(kind: ChunkKind, id: Uint8Array, lengthBytes: number): boolean {
    if (this.has(id, 0) && !this.#isDamaged(id)) return false;
    this.#count(kind, id, lengthBytes);
    return true;
  }

  /** What was stored again is in a pack without a name. */
  #isDamaged(id: Uint8Array): boolean {
    return this.#damagedPacks.size > 0 && this.#damagedPacks.has(this.#packIndexOf(id)!);
  }

  /** Makes everything taken so far durable, in packs that a durable segment names. */
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

  /** Throws unless every pack that the new snapshot relies on is still there. */
  async assertPacksPresent(): Promise<void> {
    for (const [index, isNeeded] of this.#isNeeded.entries()) {
      if (isNeeded === 1) await this.#assertPresent(this.#state.packs.get(index));
    }
    for (const pack of this.#ownPacks) await this.#assertPresent(pack);
  }

  async #assertPresent({ id, sizeBytes }: PackSize): Promise<void> {
    if (((await this.#repository.backend.sizeOf(packName(id))) ?? -1) >= sizeBytes) return;
    throw new RefusedError(`pack ${id}, which this backup needs, disappeared while it ran; no snapshot was saved`, {
      hint: 'Run the backup again; it will store what is missing.',
    });
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
  }

  #createWriter(kind: ChunkKind): ChunkWriter {
    const { order, config, sizes } = this.#repository;
    const { packHash, compression } = config;
    const compressor = new Compressor(compression.level);
    const onPack = (pack: PackContents): void => this.#onPack(pack);
    return new ChunkWriter({ sink: order, kind, packHash, compressor, sizes, onPack });
  }

  #onPack(pack: PackContents): void {
    this.#unnamed.push(pack);
    this.#ownPacks.push({ id: pack.id, sizeBytes: pack.sizeBytes });
    this.#unnamedBytes += pack.sizeBytes;
    this.counts.dataAddedPacked += pack.sizeBytes;
    if (this.#progress !== undefined) this.#progress.storedBytes += pack.sizeBytes;
  }

  async #nameChunks(): Promise<void> {
    const packs = this.#unnamed;
    if (packs.length === 0) return;
    // A process that took this one for dead may have removed its packs; a segment must not name packs that are gone.
    await this.#repository.assertLocked();
    for (const pack of packs) await this.#assertPresent(pack);
    this.#unnamed = [];
    this.#unnamedBytes = 0;
    await this.#repository.order.publishSegment(packs);
  }
}

/** A chunk whose id is being computed. */
export interface HashedChunk {
  readonly lengthBytes: number;
  readonly identified: StartedTask<IdentifyTask>;
  /** Absent in a dry run. */
  readonly held?: HeldChunk;
}

type PackSize = Pick<PackContents, 'id' | 'sizeBytes'>;

function highestIndex(state: FilterState): number {
  let highest = -1;
  state.packs.forEach((_, index) => {
    highest = Math.max(highest, index);
  });
  return highest;
}
