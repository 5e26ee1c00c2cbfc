import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { forEachChunk } from '../../core/format/packed-block.ts';
import type { BorrowedChunks } from '../../core/format/borrowed-block.ts';
import type { PackContents } from '../../core/format/pack.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ChunkWriter } from '../../core/store/chunk-writer.ts';
import type { ScannedBlock } from '../../core/store/pack-scan.ts';
import { idText } from './found-packs.ts';

/** Copies what is readable of damaged packs into new packs. */
export class Salvager {
  readonly packs: PackContents[] = [];
  chunkCount = 0;
  readonly #repository: Repository;
  readonly #writers: { readonly data: ChunkWriter; readonly tree: ChunkWriter };

  /** A pack has only borrowed chunks, or none. */
  readonly #borrowed: ChunkWriter;

  constructor(repository: Repository) {
    this.#repository = repository;
    const onPack = (pack: PackContents): void => void this.packs.push(pack);
    this.#borrowed = repository.chunkWriter('data', onPack);
    this.#writers = { data: repository.chunkWriter('data', onPack), tree: repository.chunkWriter('tree', onPack) };
  }

  /**
   * Copies every chunk whose bytes give its id in any copy, whatever a damaged footer or segment says of the pack.
   * `neededIds`: only these, see `CopiedPack`.
   */
  async salvage(packId: string, neededIds?: ReadonlySet<string>): Promise<void> {
    const { packs } = this.#repository;
    const copyIds = await packs.copyIdsOf(packId);
    if (copyIds.length === 0) return void (await packs.scan(packId, async (each) => this.#copy(each, { neededIds })));
    const seen = new Set<string>();
    for (const copyId of copyIds) await packs.scan(copyId, async (each) => this.#copy(each, { neededIds, seen }));
  }

  async #copyBorrowed(borrowed: BorrowedChunks): Promise<void> {
    await this.#borrowed.addEncoded(this.#repository.packs.encodeBorrowed(borrowed));
    this.chunkCount += borrowed.chunkLengths.length;
  }

  async finish(): Promise<void> {
    await this.#borrowed.finish();
    await this.#writers.data.finish();
    await this.#writers.tree.finish();
  }

  /** The packs that were published stay: the caller decides about them. */
  async abort(): Promise<void> {
    await this.#borrowed.abort();
    await this.#writers.data.abort();
    await this.#writers.tree.abort();
  }

  /** `seen`: chunks that are not copied again. */
  async #copy(
    { kind, block, content }: ScannedBlock,
    { neededIds, seen }: { readonly neededIds: ReadonlySet<string> | undefined; readonly seen?: Set<string> },
  ): Promise<void> {
    if ('borrowed' in content) return await this.#copyBorrowed(content.borrowed);
    const { raw } = content;
    const adding: { id: Uint8Array; bytes: Uint8Array }[] = [];
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes) => {
      const id = block.chunkIds.slice(idOffset, idOffset + CHUNK_ID_BYTES);
      adding.push({ id, bytes: raw.subarray(offsetInBlock, offsetInBlock + lengthBytes) });
    });
    for (const { id, bytes } of adding) {
      const text = idText(id);
      if (neededIds?.has(text) === false || seen?.has(text) === true) continue;
      seen?.add(text);
      await this.#writers[kind].add(id, bytes);
      this.chunkCount += 1;
    }
  }
}
