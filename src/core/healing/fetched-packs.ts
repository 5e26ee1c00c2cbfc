import type { ChunkKind } from '../format/chunk-kind.ts';
import type { PackContents } from '../format/pack.ts';
import { SegmentWriter } from '../repository/segment-writer.ts';
import type { Repository } from '../repository/repository.ts';
import type { ChunkWriter } from '../store/chunk-writer.ts';

/** Stores fetched chunks in new packs, and the packs in new segments: packs are durable before their segment. */
export class FetchedPacks {
  readonly #writers: Readonly<Record<ChunkKind, ChunkWriter>>;
  readonly #segments: SegmentWriter;
  /** Hex ids. */
  readonly #added = new Set<string>();

  /** `verifyLock` runs before each segment, and throws if the packs may have been removed. */
  constructor(repository: Repository, verifyLock: Repository['assertLocked']) {
    const { order, sizes } = repository;
    const looks = { assertPacksPresent: async () => undefined, needsOfPacks: () => undefined };
    const publish: typeof order.publishSegment = async (packs, verify) => order.publishSegment(packs, verify);
    this.#segments = new SegmentWriter({ publish, verifyLock, looks, segmentBytes: sizes.segmentBytes });
    const onPack = (pack: PackContents): void => this.#segments.add(pack);
    this.#writers = { data: repository.chunkWriter('data', onPack), tree: repository.chunkWriter('tree', onPack) };
  }

  get isEmpty(): boolean {
    return this.#added.size === 0;
  }

  /** Stores a chunk, once. */
  async add(kind: ChunkKind, id: Uint8Array, bytes: Uint8Array): Promise<void> {
    const hexId = Buffer.from(id).toString('hex');
    if (this.#added.has(hexId)) return;
    this.#added.add(hexId);
    await this.#writers[kind].add(Uint8Array.from(id), bytes);
    await this.#segments.flushIfLarge();
  }

  async finish(): Promise<void> {
    await this.#writers.data.finish();
    await this.#writers.tree.finish();
    await this.#segments.flush();
  }

  /** Ends after a failure. What was published is indexed, so that it need not be fetched again, if that is possible. */
  async abandon(): Promise<void> {
    await this.#writers.data.abort();
    await this.#writers.tree.abort();
    await this.#segments.flush();
  }
}
