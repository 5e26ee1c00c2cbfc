import { cutBeforeEnd } from '../../core/chunking/chunker.ts';
import type { Chunker } from '../../core/chunking/chunker.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { PLANNED_CHUNKS_MAX, storeChunk } from './content-copier.ts';
import type { ContentCopier, CopierServices } from './content-copier.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';
import { BlocksAhead } from './blocks-ahead.ts';
import { CutMemo } from './cut-memo.ts';
import type { Content, Place } from './cut-memo.ts';
import { ContentReader, START } from './content-reader.ts';

/** Takes the place of a chunk in the plan, whose files take memory too. */
const CHUNKS_PER_CONTENT = 8;

/**
 * Copies contents to a repository that cuts files at other places, as a backup there would. A part of a file that was
 * cut before, in this or another file or snapshot, is neither read nor cut again.
 */
export class Recutter implements ContentCopier {
  readonly #services: CopierServices;
  readonly #chunker: Chunker;
  readonly #memo: CutMemo;
  #planned: Content[] = [];
  #plannedChunks = new EntrySet();
  #plannedCount = 0;
  #scratch = Buffer.alloc(64 * CHUNK_ID_BYTES);

  constructor(services: CopierServices, chunker: Chunker) {
    this.#services = services;
    this.#chunker = chunker;
    const { filter } = services.source.state;
    this.#memo = new CutMemo((entry) => filter.lengthOf(entry), chunker.maxSizeBytes);
  }

  knows(content: Content): boolean {
    return this.#walkKnown(content, START, () => undefined).index === content.length;
  }

  isNew(entry: number): boolean {
    return !this.#memo.hasSeen(entry);
  }

  plan(content: Content): boolean {
    this.#planned.push(content);
    this.#plannedCount += content.length + CHUNKS_PER_CONTENT;
    let hasNew = false;
    for (const entry of content) if (this.isNew(entry) && this.#plannedChunks.add(entry)) hasNew = true;
    return hasNew;
  }

  get isPlanFull(): boolean {
    return this.#plannedCount >= PLANNED_CHUNKS_MAX;
  }

  async copyPlanned(): Promise<void> {
    const contents = this.#planned;
    this.forgetPlan();
    const ahead = new BlocksAhead(this.#services, contents, (entry) => this.isNew(entry));
    const reader = new ContentReader(this.#services, this.#chunker.buffer, ahead);
    try {
      for (const content of contents) await this.#cutContent(content, reader);
    } finally {
      await ahead.settle();
    }
    await this.#services.queue.finish();
  }

  forgetPlan(): void {
    this.#services.queue.dispose();
    this.#planned = [];
    this.#plannedChunks = new EntrySet();
    this.#plannedCount = 0;
  }

  idsOf(content: Content): Uint8Array {
    let sizeBytes = 0;
    this.#walkKnown(content, START, (record) => {
      if (sizeBytes === this.#scratch.length) {
        this.#scratch = Buffer.concat([this.#scratch, Buffer.alloc(this.#scratch.length)]);
      }
      this.#memo.copyId(record, this.#scratch, sizeBytes);
      sizeBytes += CHUNK_ID_BYTES;
    });
    return this.#scratch.subarray(0, sizeBytes);
  }

  learn(content: Content, copyIds: Uint8Array): void {
    const { filter } = this.#services.destination.state;
    let start = START;
    for (let offset = 0; offset < copyIds.length; offset += CHUNK_ID_BYTES) {
      const lengthBytes = filter.lengthOf(filter.find(copyIds, offset));
      const end = this.#advance(content, start, lengthBytes);
      const isLast = offset + CHUNK_ID_BYTES === copyIds.length && lengthBytes < this.#chunker.maxSizeBytes;
      this.#memo.add(content, { start, end, isLast }, copyIds.subarray(offset, offset + CHUNK_ID_BYTES));
      start = end;
    }
  }

  /** Visits the known chunks from a place on. Returns the place of the first one that is not known. */
  #walkKnown(content: Content, start: Place, visit: (record: number) => void): Place {
    let place = start;
    while (place.index < content.length) {
      const record = this.#memo.find(content, place);
      if (record === undefined) break;
      visit(record);
      place = this.#memo.endOf(record, content, place.index);
    }
    return place;
  }

  #advance(content: Content, start: Place, lengthBytes: number): Place {
    const { filter } = this.#services.source.state;
    let { index } = start;
    let offset = start.offset + lengthBytes;
    for (; index < content.length; index += 1) {
      const inChunk = filter.lengthOf(content[index]!);
      if (offset < inChunk) break;
      offset -= inChunk;
    }
    return { index, offset };
  }

  async #cutContent(content: Content, reader: ContentReader): Promise<void> {
    const { pacer } = this.#services;
    reader.begin(content);
    let start = START;
    for (;;) {
      const next = this.#walkKnown(content, start, () => undefined);
      if (next.index === content.length) return;
      if (next !== start) reader.moveTo(next);
      start = next;
      const bytes = await this.#cut(reader);
      const end = this.#advance(content, start, bytes.length);
      const isLast = end.index === content.length && bytes.length < this.#chunker.maxSizeBytes;
      const cut = { start, end, isLast };
      await storeChunk(this.#services, bytes, (id) => this.#memo.add(content, cut, id));
      start = end;
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Returns the bytes of the next chunk, valid until the next call. */
  async #cut(reader: ContentReader): Promise<Uint8Array> {
    for (;;) {
      const { start } = reader;
      const lengthBytes = this.#lengthOfNext(reader);
      if (lengthBytes > 0) {
        reader.start += lengthBytes;
        return this.#chunker.buffer.subarray(start, start + lengthBytes);
      }
      await reader.fill();
    }
  }

  /** Returns 0 if more bytes are needed to find the cut. */
  #lengthOfNext({ start, end, isAtEnd }: ContentReader): number {
    if (start === end) return 0;
    return isAtEnd ? this.#chunker.cut(start, end) : (cutBeforeEnd(this.#chunker, start, end) ?? 0);
  }
}
