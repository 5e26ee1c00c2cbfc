import { copyBytes } from '../../core/util/copy-bytes.ts';
import type { BlocksAhead } from './blocks-ahead.ts';
import type { CopierServices } from './content-copier.ts';
import type { Content, Place } from './cut-memo.ts';
import { awaitSource } from './source-damage.ts';

/** Where a content begins. */
export const START: Place = { index: 0, offset: 0 };

/** Reads contents through the buffer of a chunker, one after the other. */
export class ContentReader {
  /** The bytes that are read and not cut yet are in the buffer from `start` to `end`. */
  start = 0;
  end = 0;
  readonly #services: CopierServices;
  readonly #buffer: Buffer;
  readonly #ahead: BlocksAhead;
  #content: Content = [];
  /** What to read next. */
  #place = START;
  /** The chunk to read next, if the buffer had no room for all of it. */
  #rest: Uint8Array | undefined;

  constructor(services: CopierServices, buffer: Uint8Array, ahead: BlocksAhead) {
    this.#services = services;
    this.#buffer = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.length);
    this.#ahead = ahead;
  }

  begin(content: Content): void {
    this.#content = content;
    this.moveTo(START);
  }

  /** Whether the bytes up to `end` are the last ones of the content. */
  get isAtEnd(): boolean {
    return this.#place.index === this.#content.length;
  }

  /** Goes on at another place of the content. */
  moveTo(place: Place): void {
    this.#place = place;
    this.#rest = undefined;
    this.start = 0;
    this.end = 0;
  }

  /** Reads at least as many bytes as there are now, so that searching them for a cut again takes no more time. */
  async fill(): Promise<void> {
    const enoughBytes = 2 * (this.end - this.start);
    do {
      this.#services.work.addData(await this.#readNext());
    } while (this.end - this.start < enoughBytes && this.end < this.#buffer.length && !this.isAtEnd);
  }

  /** Reads on to the end of a chunk, or of the buffer. */
  async #readNext(): Promise<number> {
    const { filter } = this.#services.source.state;
    const { index, offset } = this.#place;
    const entry = this.#content[index]!;
    const lengthBytes = filter.lengthOf(entry);
    this.#makeRoom(lengthBytes - offset);
    const readBytes = Math.min(lengthBytes - offset, this.#buffer.length - this.end);
    const isWhole = offset + readBytes === lengthBytes;
    this.#ahead.advance(entry);
    await awaitSource(() => this.#read(entry, { offset, readBytes, isWhole }));
    this.end += readBytes;
    this.#place = isWhole ? { index: index + 1, offset: 0 } : { index, offset: offset + readBytes };
    if (isWhole) this.#rest = undefined;
    return readBytes;
  }

  #makeRoom(sizeBytes: number): void {
    if (this.start === 0 || this.#buffer.length - this.end >= sizeBytes) return;
    this.#buffer.copyWithin(0, this.start, this.end);
    this.end -= this.start;
    this.start = 0;
  }

  async #read(
    entry: number,
    { offset, readBytes, isWhole }: { readonly offset: number; readonly readBytes: number; readonly isWhole: boolean },
  ): Promise<void> {
    const { reader } = this.#services.source;
    const copy = (bytes: Uint8Array): void => {
      copyBytes(this.#buffer, bytes.subarray(offset, offset + readBytes), this.end);
    };
    // The rest of a chunk that is larger than the cache must not be read and decompressed again.
    if (!isWhole) this.#rest ??= await reader.readEntry(entry);
    if (this.#rest === undefined) await reader.useEntry(entry, copy);
    else copy(this.#rest);
  }
}
