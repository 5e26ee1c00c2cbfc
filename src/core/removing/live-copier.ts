import { CorruptDataError } from '../errors.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChunk } from '../format/packed-block.ts';
import type { BorrowedChunks } from '../format/borrowed-block.ts';
import type { PackContents } from '../format/pack.ts';
import type { PackedBlock } from '../format/packed-block.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import type { OpenedBlock, VerifiedBlock } from '../store/block-codec.ts';
import type { ChunkWriter } from '../store/chunk-writer.ts';
import type { StoredBlock } from '../store/pack-store.ts';
import type { PackUsage } from './pack-usage.ts';

/** Copies the live chunks of packs to new packs; every chunk is verified against its id on the way. */
export class LiveCopier {
  readonly packs: PackContents[] = [];
  bytesCopied = 0;
  readonly #repository: Repository;
  readonly #opened: Pick<OpenedState, 'state' | 'listing'>;

  constructor(repository: Repository, opened: Pick<OpenedState, 'state' | 'listing'>) {
    this.#repository = repository;
    this.#opened = opened;
  }

  /** Of the packs to come, some footers are in memory, and some blocks of the current one: `readsAtOnce` of each. */
  async copy(usages: readonly PackUsage[]): Promise<void> {
    const { files, packs } = this.#repository;
    const { listing } = this.#opened;
    // The size that is listed is that of the longest copy.
    const read = async ({ pack: { id } }: PackUsage): Promise<PackContents> => {
      const contents = await packs.fromAnyCopy(id, async (copyId) =>
        packs.readContents(copyId, copyId === id ? listing.packs.get(id) : undefined),
      );
      return { ...contents, id };
    };
    // A pack has only borrowed chunks, or none.
    const runs = [
      { kind: 'data', isBorrowed: false },
      { kind: 'data', isBorrowed: true },
      { kind: 'tree', isBorrowed: false },
    ] as const;
    for (const { kind, isBorrowed } of runs) {
      const writer = this.#repository.chunkWriter(kind, (pack) => void this.packs.push(pack));
      try {
        const ofKind = usages.filter(({ pack }) => pack.kind === kind && pack.isBorrowed === isBorrowed);
        for await (const [{ index }, contents] of files.prefetch(ofKind, read)) {
          this.#repository.throwIfAborted();
          await this.#copyPack(writer, await contents, index);
        }
        await writer.finish();
      } catch (error) {
        await writer.abort().catch(() => undefined);
        throw error;
      }
    }
  }

  async #copyPack(writer: ChunkWriter, pack: PackContents, packIndex: number): Promise<void> {
    const blocks = this.#liveBlocks(pack, packIndex);
    const read = async (block: LiveBlock): Promise<ReadBlock> =>
      this.#repository.packs.fromAnyCopy(pack.id, async (id) => this.#read({ ...pack, id }, block));
    for await (const [block, reading] of this.#repository.files.prefetch(blocks, read)) {
      await this.#write(writer, block, await reading);
    }
  }

  /** The blocks with chunks that are live and whose place is this one. */
  *#liveBlocks(pack: PackContents, packIndex: number): Generator<LiveBlock> {
    for (const block of pack.blocks) {
      const live = this.#liveChunks(block, packIndex);
      if (live.length > 0) yield { block, live };
    }
  }

  #liveChunks(block: PackedBlock, packIndex: number): LiveChunk[] {
    const { filter } = this.#opened.state;
    const live: LiveChunk[] = [];
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes) => {
      const entry = filter.find(block.chunkIds, idOffset);
      if (entry < 0 || filter.refs(entry) === 0) return;
      const location = filter.location(entry);
      const isHere =
        location.packIndex === packIndex &&
        location.blockOffset === block.offset &&
        location.offsetInBlock === offsetInBlock;
      if (isHere) live.push({ idOffset, offsetInBlock, lengthBytes });
    });
    return live;
  }

  async #read(pack: PackContents, { block, live }: LiveBlock): Promise<ReadBlock> {
    const { packs } = this.#repository;
    // A block without dead chunks is copied as it is stored, so its raw bytes are not needed.
    const isWhole = live.length === block.chunkLengths.length;
    const openPart = async (): Promise<ReadBlock> =>
      block.codec === 'borrowed' ? packs.openBorrowed(pack, block) : packs.openBlock(pack, block);
    const read = isWhole ? await packs.verifyBlock(pack, block) : await openPart();
    const { header, chunkIds } = read;
    const isSameTable = header.chunkLengths.every((length, index) => length === block.chunkLengths[index]);
    if (isSameTable && live.every(({ idOffset }) => isSameId(chunkIds, block.chunkIds, idOffset))) return read;
    throw new CorruptDataError(`pack ${pack.id} is damaged at offset ${block.offset}; it was not removed`, {
      advice: { code: 'check-removed-and-repair' },
    });
  }

  async #write(writer: ChunkWriter, { block, live }: LiveBlock, read: ReadBlock): Promise<void> {
    this.bytesCopied += live.reduce((total, { lengthBytes }) => total + lengthBytes, 0);
    if ('stored' in read) return await writer.addEncoded({ ...block, pieces: [read.stored] });
    if ('holdId' in read) return await writer.addEncoded(this.#repository.packs.encodeBorrowed(partOf(read, live)));
    for (const { idOffset, offsetInBlock, lengthBytes } of live) {
      const id = block.chunkIds.slice(idOffset, idOffset + CHUNK_ID_BYTES);
      await writer.add(id, read.raw.subarray(offsetInBlock, offsetInBlock + lengthBytes));
    }
  }
}

type ReadBlock = OpenedBlock | StoredBlock | (BorrowedChunks & VerifiedBlock);

/** Some of the chunks of a block of borrowed ones. */
function partOf({ domainId, holdId, chunkIds }: BorrowedChunks, live: readonly LiveChunk[]): BorrowedChunks {
  const ids = live.map(({ idOffset }) => chunkIds.subarray(idOffset, idOffset + CHUNK_ID_BYTES));
  const chunkLengths = Uint32Array.from(live, ({ lengthBytes }) => lengthBytes);
  return { domainId, holdId, chunkIds: Buffer.concat(ids), chunkLengths };
}

interface LiveBlock {
  readonly block: PackedBlock;
  readonly live: readonly LiveChunk[];
}

interface LiveChunk {
  readonly idOffset: number;
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
}

function isSameId(a: Uint8Array, b: Uint8Array, offset: number): boolean {
  return Buffer.compare(a.subarray(offset, offset + CHUNK_ID_BYTES), b.subarray(offset, offset + CHUNK_ID_BYTES)) === 0;
}
