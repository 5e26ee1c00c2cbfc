import type { TreeEntry } from '../format/tree/tree.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import { areZeros } from '../files/source/data-runs.ts';
import { copyBytes } from '../util/copy-bytes.ts';
import { chunksOfFile } from './file-chunks.ts';
import type { TreeCache } from './tree-cache.ts';

/** What reading snapshots needs of an opened repository. */
export interface ReadServices {
  readonly opened: Pick<OpenedState, 'state' | 'reader'>;
  readonly trees: TreeCache;
  /** Runs a read. Throws if the repository was closed or the operation cancelled. */
  readonly guard: <T>(read: () => T | Promise<T>) => T | Promise<T>;
}

export interface ReadFileOptions {
  /** The first byte to read. Default: 0. */
  readonly start?: number;
  /** Where to stop, exclusive. Default: the end of the file. */
  readonly end?: number;
}

/** A chunk that may not fit in the cache of blocks is kept while a reader is in it. */
const HELD_BYTES_MIN = 8 * 1024 * 1024;
/** How many bytes are loaded ahead of a sequential reader, so that other threads decompress while it consumes. */
const AHEAD_BYTES = 16 * 1024 * 1024;

/**
 * The content of a file in a snapshot. Every byte is verified against the id of its chunk. Ranges may be read at the
 * same time.
 */
export class SnapshotFile {
  /** The file's entry in its directory. */
  readonly entry: TreeEntry;
  readonly sizeBytes: number;
  readonly #services: Omit<ReadServices, 'trees'>;
  /** The number of each chunk in the filter. */
  readonly #chunks: readonly number[];
  /** Where each chunk ends in the file. */
  readonly #ends: Float64Array;
  /** Where the last read ended, to recognize a sequential reader. */
  #lastEnd = -1;
  /** The end of the last chunk that was loaded ahead. */
  #aheadEnd = 0;
  #held: { readonly index: number; readonly bytes: Promise<Uint8Array> } | undefined;

  /**
   * @internal
   * @throws CorruptDataError if chunks are missing, or their lengths contradict the size
   */
  constructor(services: Omit<ReadServices, 'trees'>, entry: TreeEntry) {
    this.#services = services;
    this.entry = entry;
    this.sizeBytes = entry.sizeBytes;
    this.#chunks = chunksOfFile(services.opened, entry);
    const { filter } = services.opened.state;
    let end = 0;
    this.#ends = Float64Array.from(this.#chunks, (chunk) => (end += filter.lengthOf(chunk)));
  }

  /**
   * Returns up to `length` bytes from `offset`: fewer only at the end of the file.
   * @throws CorruptDataError if they are damaged and there is no other copy
   */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(offset + Math.max(0, length), this.sizeBytes);
    const bytes = Buffer.allocUnsafeSlow(Math.max(0, end - offset));
    await this.readInto(bytes, offset);
    return bytes;
  }

  /** Like `read`, into the caller's memory. Returns how many bytes there were, and no promise if they are in memory. */
  readInto(target: Uint8Array, offset: number): number | Promise<number> {
    const lengthBytes = Math.max(0, Math.min(target.length, this.sizeBytes - offset));
    if (lengthBytes === 0) return 0;
    const into = Buffer.from(target.buffer, target.byteOffset, lengthBytes);
    return this.#services.guard(() => this.#fill(into, offset));
  }

  /** Yields the content, or a range of it, a chunk at a time. */
  async *pieces({ start = 0, end = this.sizeBytes }: ReadFileOptions = {}): AsyncGenerator<Uint8Array> {
    const last = Math.min(end, this.sizeBytes);
    for (let offset = start; offset < last;) {
      const next = Math.min(last, this.#ends[this.#indexAt(offset)]!);
      yield await this.read(offset, next - offset);
      offset = next;
    }
  }

  /**
   * Returns the holes in which all bytes are 0: where they start and end, in turn. A file that was written to during its
   * backup may have other bytes in a recorded hole, and only the chunks decide what its bytes are.
   */
  async holes(): Promise<Float64Array> {
    const { holes } = this.entry;
    const found: number[] = [];
    /** Large holes consist of the same chunk. */
    const wholeChunks = new Map<number, boolean>();
    for (let hole = 0; hole < holes.length; hole += 2) {
      const end = holes[hole + 1]!;
      for (let from = holes[hole]!, to = from; from < end; from = to) {
        const index = this.#indexAt(from);
        to = Math.min(end, this.#ends[index]!);
        const isWhole = from === this.#startOf(index) && to === this.#ends[index];
        const chunk = this.#chunks[index]!;
        const isEmpty = (isWhole ? wholeChunks.get(chunk) : undefined) ?? (await this.#areZeros(index, from, to));
        if (isWhole) wholeChunks.set(chunk, isEmpty);
        if (!isEmpty) continue;
        if (found.at(-1) === from) found.pop();
        else found.push(from);
        found.push(to);
      }
    }
    return Float64Array.from(found);
  }

  /** Examines a part of one chunk. */
  async #areZeros(index: number, from: number, to: number): Promise<boolean> {
    const start = this.#startOf(index);
    let isEmpty = false;
    await this.#services.guard(() =>
      this.#services.opened.reader.useEntry(this.#chunks[index]!, (bytes) => {
        isEmpty = areZeros(bytes.subarray(from - start, to - start));
      }),
    );
    return isEmpty;
  }

  #fill(into: Buffer, offset: number): number | Promise<number> {
    const end = offset + into.length;
    const index = this.#indexAt(offset);
    if (offset === this.#lastEnd) this.#loadAhead(index, end);
    this.#lastEnd = end;
    return this.#fillFrom(index, into, offset);
  }

  #fillFrom(first: number, into: Buffer, offset: number): number | Promise<number> {
    const end = offset + into.length;
    for (let index = first, start = this.#startOf(first); start < end; start = this.#ends[index]!, index += 1) {
      const from = Math.max(0, offset - start);
      const to = Math.min(this.#ends[index]!, end) - start;
      const copying = this.#copy(index, { from, to, into, at: start + from - offset });
      if (copying === undefined) continue;
      const isLast = this.#ends[index]! >= end;
      return copying.then(() => (isLast ? into.length : this.#fillFrom(index + 1, into, offset)));
    }
    return into.length;
  }

  #copy(
    index: number,
    part: { readonly from: number; readonly to: number; readonly into: Buffer; readonly at: number },
  ): Promise<void> | undefined {
    const copy = (bytes: Uint8Array): void => copyBytes(part.into, bytes.subarray(part.from, part.to), part.at);
    const { reader } = this.#services.opened;
    const chunk = this.#chunks[index]!;
    const isWhole = part.to - part.from === this.#ends[index]! - this.#startOf(index);
    if (isWhole || this.#ends[index]! - this.#startOf(index) < HELD_BYTES_MIN) return reader.useEntry(chunk, copy);
    if (this.#held?.index !== index) this.#held = { index, bytes: Promise.resolve(reader.readEntry(chunk)) };
    return this.#held.bytes.then(copy, (error: unknown) => {
      this.#held = undefined;
      throw error;
    });
  }

  /** Errors are left to the read that needs the bytes. */
  #loadAhead(index: number, end: number): void {
    const { reader } = this.#services.opened;
    for (let next = index; next < this.#chunks.length; next += 1) {
      const chunkEnd = this.#ends[next]!;
      if (this.#startOf(next) >= end + AHEAD_BYTES) return;
      if (chunkEnd <= this.#aheadEnd || chunkEnd - this.#startOf(next) >= HELD_BYTES_MIN) continue;
      this.#aheadEnd = chunkEnd;
      try {
        reader.useEntry(this.#chunks[next]!, () => undefined)?.catch(() => undefined);
      } catch {
        return;
      }
    }
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!;
  }

  /** The chunk that contains the byte at `offset`, which is below the size. */
  #indexAt(offset: number): number {
    let low = 0;
    let high = this.#ends.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle]! > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
