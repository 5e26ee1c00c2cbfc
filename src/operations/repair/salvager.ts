import { bufferOver } from '../../format/byte-reader.ts';
import { CHUNK_ID_BYTES } from '../../format/constants.ts';
import { forEachChunk } from '../../format/pack.ts';
import type { PackContents } from '../../format/pack.ts';
import type { Repository } from '../../repository/repository.ts';
import { ChunkWriter } from '../../store/chunk-writer.ts';
import { packName } from '../../store/pack-reader.ts';
import { Compressor } from '../../workers/compression.ts';
import { scanBlocks } from './pack-scan.ts';
import type { ScannedBlock } from './pack-scan.ts';

/** Copies what is readable of damaged packs into new packs. */
export class Salvager {
  readonly packs: PackContents[] = [];
  chunkCount = 0;
  readonly #repository: Repository;
  readonly #writers: { readonly data: ChunkWriter; readonly tree: ChunkWriter };

  constructor(repository: Repository) {
    this.#repository = repository;
    const { packHash, compression } = repository.config;
    const compressor = new Compressor(compression.level);
    const onPack = (pack: PackContents): void => void this.packs.push(pack);
    const shared = { sink: repository.order, packHash, compressor, sizes: repository.sizes, onPack };
    this.#writers = {
      data: new ChunkWriter({ ...shared, kind: 'data' }),
      tree: new ChunkWriter({ ...shared, kind: 'tree' }),
    };
  }

  /** Copies every chunk whose bytes give its id, whatever a damaged footer or segment says of the pack. */
  async salvage(packId: string): Promise<void> {
    const { backend, hasher } = this.#repository;
    const bytes = bufferOver(await backend.read(packName(packId)));
    await scanBlocks(bytes, hasher, async (scanned) => this.#copy(scanned));
  }

  async finish(): Promise<void> {
    await this.#writers.data.finish();
    await this.#writers.tree.finish();
  }

  /** The packs that were published stay: the caller decides about them. */
  async abort(): Promise<void> {
    await this.#writers.data.abort();
    await this.#writers.tree.abort();
  }

  async #copy({ kind, block, raw }: ScannedBlock): Promise<void> {
    const adding: { id: Uint8Array; bytes: Uint8Array }[] = [];
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes) => {
      const id = block.chunkIds.slice(idOffset, idOffset + CHUNK_ID_BYTES);
      adding.push({ id, bytes: raw.subarray(offsetInBlock, offsetInBlock + lengthBytes) });
    });
    for (const { id, bytes } of adding) await this.#writers[kind].add(id, bytes);
    this.chunkCount += adding.length;
  }
}
