import { blockBytes } from '../format/block.ts';
import type { BlockSpan } from './block-part.ts';
import { DEFAULT_STORE_SIZES } from './store-sizes.ts';

/** What is known about a chunk before its block is read. */
interface KnownChunk {
  readonly offsetInBlock: number;
  readonly lengthBytes: number;
  /** The chunk's share of the stored block. */
  readonly storedBytes: number;
}

/** More than the shares of small chunks are rounded. */
const MARGIN = 1 / 64;
/**
 * The blocks of another writer may be smaller: after as many of them, such blocks are expected. A full one among them is
 * enough to expect more, since the rest of a block that was expected too small is one more wait.
 */
const REMEMBERED_COUNT = 32;

/** For less, a part of a block is not read by itself. */
const SAVED_BYTES_MIN = 64 * 1024;

/**
 * Expects the stored size of a block from one of its chunks, so that one read is mostly enough. A few bytes too many
 * cost less than a second call, which takes milliseconds in a remote place.
 */
export class BlockSizeEstimate {
  /** Raw size of a full block of several chunks. */
  #fullRawBytes = DEFAULT_STORE_SIZES.blockRawBytes;
  /** Of the last blocks of several chunks. */
  readonly #lastRawBytes = Array.from({ length: REMEMBERED_COUNT }, () => DEFAULT_STORE_SIZES.blockRawBytes);
  readonly #sealBytes: number;

  /** `sealBytes`: what sealing adds to a block. */
  constructor(sealBytes: number) {
    this.#sealBytes = sealBytes;
  }

  bytesFor({ offsetInBlock, lengthBytes, storedBytes }: KnownChunk): number {
    // A chunk of more than half a block is alone in its block, and so is one with exactly the size of such a raw block.
    const isLarge = lengthBytes > this.#fullRawBytes / 2;
    const isAlone = offsetInBlock === 0 && (isLarge || storedBytes === blockBytes(1, lengthBytes) + this.#sealBytes);
    if (isAlone) return storedBytes;
    const rawBytes = Math.max(this.#fullRawBytes, offsetInBlock + lengthBytes);
    return Math.ceil((storedBytes / lengthBytes) * rawBytes * (1 + MARGIN));
  }

  /**
   * Returns where a part of a block is in the stored block, with a margin for the table before it, whose size is not
   * known. Undefined if that is hardly shorter than the block, or the block is compressed.
   */
  rangeOf(chunk: KnownChunk, { start, end }: BlockSpan): BlockSpan | undefined {
    const { lengthBytes, storedBytes } = chunk;
    if (storedBytes < lengthBytes) return undefined;
    const tableBytesMax = ((storedBytes + 1 - lengthBytes) / lengthBytes) * this.#fullRawBytes;
    const range = { start: start + blockBytes(1, 0), end: end + Math.ceil(tableBytesMax) };
    return this.bytesFor(chunk) - (range.end - range.start) >= SAVED_BYTES_MIN ? range : undefined;
  }

  /** Notes a block that was read. */
  learn(rawBytes: number, chunkCount: number): void {
    if (chunkCount === 1) return;
    this.#lastRawBytes.shift();
    this.#lastRawBytes.push(rawBytes);
    this.#fullRawBytes = Math.max(...this.#lastRawBytes);
  }
}
