import { CorruptDataError } from '../../errors.ts';
import type { FilterState } from '../../ldm/filter-state.ts';
import { CHUNK_ID_BYTES } from '../../format/constants.ts';
import { forEachChunk } from '../../format/pack.ts';
import type { PackContents, PackedBlock } from '../../format/pack.ts';
import type { Repository } from '../../repository/repository.ts';
import type { ChunkWriter } from '../../store/chunk-writer.ts';
import type { PackUsage } from '../pack-usage.ts';

/** Copies the live chunks of packs to new packs; every chunk is verified against its id on the way. */
export class LiveCopier {
  readonly packs: PackContents[] = [];
  bytesCopied = 0;
  readonly #repository: Repository;
  readonly #state: FilterState;

  constructor(repository: Repository, state: FilterState) {
    this.#repository = repository;
    this.#state = state;
  }

  async copy(usages: readonly PackUsage[]): Promise<void> {
    for (const kind of ['data', 'tree'] as const) {
      const writer = this.#repository.chunkWriter(kind, (pack) => void this.packs.push(pack));
      try {
        for (const { pack, index } of usages) {
          this.#repository.throwIfAborted();
          if (pack.kind === kind) await this.#copyPack(writer, pack.id, index);
        }
        await writer.finish();
      } catch (error) {
        await writer.abort().catch(() => undefined);
        throw error;
      }
    }
  }

  async #copyPack(writer: ChunkWriter, packId: string, packIndex: number): Promise<void> {
    const pack = await this.#repository.packs.readContents(packId);
    for (const block of pack.blocks) {
      const live = this.#liveChunks(block, packIndex);
      if (live.length > 0) await this.#copyBlock(writer, pack, block, live);
    }
  }

  /** The chunks of a block that are live and whose place is this one. */
  #liveChunks(block: PackedBlock, packIndex: number): LiveChunk[] {
    const { filter } = this.#state;
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

  async #copyBlock(
    writer: ChunkWriter,
    pack: PackContents,
    block: PackedBlock,
    live: readonly LiveChunk[],
  ): Promise<void> {
    const { packs } = this.#repository;
    // A block without dead chunks is copied as it is stored, so its raw bytes are not needed.
    const isWhole = live.length === block.chunkLengths.length;
    const read = isWhole ? await packs.verifyBlock(pack, block) : await packs.openBlock(pack, block);
    const { header, chunkIds } = read;
    const isSameTable = header.chunkLengths.every((length, index) => length === block.chunkLengths[index]);
    if (!isSameTable || !live.every(({ idOffset }) => isSameId(chunkIds, block.chunkIds, idOffset))) {
      throw new CorruptDataError(`pack ${pack.id} is damaged at offset ${block.offset}; it was not removed`, {
        advice: { code: 'check-removed-and-repair' },
      });
    }
    this.bytesCopied += live.reduce((total, { lengthBytes }) => total + lengthBytes, 0);
    if ('stored' in read) return await writer.addSealed({ ...block, pieces: [read.stored] });
    for (const { idOffset, offsetInBlock, lengthBytes } of live) {
      const id = block.chunkIds.slice(idOffset, idOffset + CHUNK_ID_BYTES);
      await writer.add(id, read.raw.subarray(offsetInBlock, offsetInBlock + lengthBytes));
    }
  }
}

interface LiveChunk {
  readonly idOffset: number;
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
}

function isSameId(a: Uint8Array, b: Uint8Array, offset: number): boolean {
  return Buffer.compare(a.subarray(offset, offset + CHUNK_ID_BYTES), b.subarray(offset, offset + CHUNK_ID_BYTES)) === 0;
}
