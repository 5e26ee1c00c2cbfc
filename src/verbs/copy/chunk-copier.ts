import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { OpenEntries } from '../../core/repository/state-reader.ts';
import { prefetch } from '../../core/util/prefetch.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import { PLANNED_CHUNKS_MAX, storeChunk } from './content-copier.ts';
import type { ContentCopier, CopierServices } from './content-copier.ts';
import type { Content } from './cut-memo.ts';
import { IdMap } from './id-map.ts';
import { awaitSource, isSourceDamage } from './source-damage.ts';

/** Blocks that are read and decompressed ahead. */
const BLOCKS_AHEAD_MAX = 8;
const OFFSETS_PER_PACK = 2 ** 32;

/**
 * Copies contents to a repository that cuts files at the same places: chunk by chunk, each once, block by block. If the
 * ids are the same too, they need no computing and no memory.
 */
export class ChunkCopier implements ContentCopier {
  readonly #services: CopierServices;
  /** Undefined if the destination has the same ids. */
  readonly #ids: IdMap | undefined;
  readonly #id = Buffer.alloc(CHUNK_ID_BYTES);
  #scratch = Buffer.alloc(64 * CHUNK_ID_BYTES);
  /** Planned chunks by block; the block that is needed first comes first. */
  #blocks = new Map<number, number[]>();
  #planned = new EntrySet();
  #plannedCount = 0;

  constructor(services: CopierServices, { hasSameIds }: { readonly hasSameIds: boolean }) {
    this.#services = services;
    this.#ids = hasSameIds ? undefined : new IdMap();
  }

  knows(content: Content): boolean {
    return content.every((entry) => !this.isNew(entry));
  }

  isNew(entry: number): boolean {
    if (this.#ids !== undefined) return !this.#ids.has(entry);
    return !this.#services.chunks.has(this.#sourceId(entry), 0);
  }

  plan(content: Content): boolean {
    const { filter } = this.#services.source.state;
    const countBefore = this.#plannedCount;
    for (const entry of content) {
      if (!this.isNew(entry) || !this.#planned.add(entry)) continue;
      const { packIndex, blockOffset } = filter.location(entry);
      const key = packIndex * OFFSETS_PER_PACK + blockOffset;
      const inBlock = this.#blocks.get(key);
      if (inBlock === undefined) this.#blocks.set(key, [entry]);
      else inBlock.push(entry);
      this.#plannedCount += 1;
    }
    return this.#plannedCount > countBefore;
  }

  get isPlanFull(): boolean {
    return this.#plannedCount >= PLANNED_CHUNKS_MAX;
  }

  async copyPlanned(): Promise<void> {
    const blocks = this.#blocks;
    this.forgetPlan();
    const open = async ([first]: readonly number[]): Promise<OpenEntries | undefined> => this.#open(first!);
    for await (const [entries, opening] of prefetch(
      blocks.values(),
      Math.min(this.#services.atOnce, BLOCKS_AHEAD_MAX),
      open,
    )) {
      const block = await opening;
      for (const entry of entries) await this.#copy(entry, block);
      block?.release();
    }
    await this.#services.queue.finish();
  }

  forgetPlan(): void {
    this.#services.queue.dispose();
    this.#blocks = new Map();
    this.#planned = new EntrySet();
    this.#plannedCount = 0;
  }

  idsOf(content: Content): Uint8Array {
    const sizeBytes = content.length * CHUNK_ID_BYTES;
    if (sizeBytes > this.#scratch.length) this.#scratch = Buffer.alloc(2 * sizeBytes);
    for (const [index, entry] of content.entries()) {
      this.#scratch.set(this.#ids?.get(entry) ?? this.#sourceId(entry), index * CHUNK_ID_BYTES);
    }
    return this.#scratch.subarray(0, sizeBytes);
  }

  learn(content: Content, copyIds: Uint8Array): void {
    const { source, destination } = this.#services;
    if (this.#ids === undefined || copyIds.length !== content.length * CHUNK_ID_BYTES) return;
    for (const [index, entry] of content.entries()) {
      const copied = destination.state.filter.find(copyIds, index * CHUNK_ID_BYTES);
      const isSameCut = destination.state.filter.lengthOf(copied) === source.state.filter.lengthOf(entry);
      if (!isSameCut || this.#ids.has(entry)) continue;
      this.#ids.add(entry, copyIds.subarray(index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES));
    }
  }

  /** Valid until the next call. */
  #sourceId(entry: number): Uint8Array {
    this.#services.source.state.filter.copyId(entry, this.#id, 0);
    return this.#id;
  }

  /** Returns undefined for a damaged block: each of its chunks may have another copy. */
  async #open(entry: number): Promise<OpenEntries | undefined> {
    try {
      return await this.#services.source.reader.openBlock(entry);
    } catch (error) {
      if (isSourceDamage(error)) return undefined;
      throw error;
    }
  }

  async #copy(entry: number, block: OpenEntries | undefined): Promise<void> {
    const bytes = bytesIn(block, entry) ?? (await awaitSource(() => this.#services.source.reader.readEntry(entry)));
    const { chunks, pacer, work } = this.#services;
    if (this.#ids === undefined) await chunks.put('data', Uint8Array.from(this.#sourceId(entry)), bytes);
    else await storeChunk(this.#services, bytes, (id) => this.#note(entry, id));
    work.addData(bytes.length);
    const pause = pacer.pause();
    if (pause !== undefined) await pause;
  }

  #note(entry: number, id: Uint8Array): void {
    if (!this.#ids!.has(entry)) this.#ids!.add(entry, id);
  }
}

/** Returns undefined for a chunk that is damaged in this block. */
function bytesIn(block: OpenEntries | undefined, entry: number): Uint8Array | undefined {
  try {
    return block?.bytesOf(entry);
  } catch (error) {
    if (isSourceDamage(error)) return undefined;
    throw error;
  }
}
