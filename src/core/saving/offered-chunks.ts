import type { ChunkLender, OfferedChunk } from '../session/extension.ts';
import type { PackContents } from '../format/pack.ts';
import type { Repository } from '../repository/repository.ts';

interface PendingOffer extends OfferedChunk {
  readonly bytes: Uint8Array;
}

/** The lender is asked about this number of chunks at once, */
const CHUNKS_MAX = 512;
/** or when their bytes, which are kept until it has answered, reach this number. */
const BYTES_MAX = 16 * 1024 * 1024;

/** New chunks that the lender may have. Their bytes are kept until it has said so exactly, or else stored. */
export class OfferedChunks {
  readonly #borrowed: OfferedChunk[] = [];
  readonly #lender: ChunkLender;
  readonly #store: (id: Uint8Array, bytes: Uint8Array) => Promise<void> | undefined;
  readonly #counts: { dataBlobs: number; dataAdded: number };
  readonly #borrowedCounts: { chunks: number; bytes: number };
  #pending: PendingOffer[] = [];
  #pendingBytes = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(
    lender: ChunkLender,
    options: {
      /** Stores a chunk that the lender lacks. */
      readonly store: (id: Uint8Array, bytes: Uint8Array) => Promise<void> | undefined;
      /** What is stored here: borrowed chunks are subtracted. */
      readonly counts: { dataBlobs: number; dataAdded: number };
      /** What the lender has. */
      readonly borrowed: { chunks: number; bytes: number };
    },
  ) {
    this.#lender = lender;
    this.#store = options.store;
    this.#counts = options.counts;
    this.#borrowedCounts = options.borrowed;
  }

  takes(id: Uint8Array): boolean {
    return this.#lender.mayHave(id);
  }

  /** Copies a chunk. If it returns a promise, the caller must wait for it. A dry run may leave out the bytes. */
  add(id: Uint8Array, bytes: Uint8Array, lengthBytes: number = bytes.length): Promise<void> | undefined {
    this.#pending.push({ id: Uint8Array.from(id), bytes: Uint8Array.from(bytes), lengthBytes });
    this.#pendingBytes += bytes.length;
    const isFull = this.#pending.length >= CHUNKS_MAX || this.#pendingBytes >= BYTES_MAX;
    return isFull ? this.flush() : undefined;
  }

  /** Asks about everything that was added. */
  async flush(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#running = this.#running.then(async () => this.#ask(pending));
    await this.#running;
  }

  async #ask(pending: readonly PendingOffer[]): Promise<void> {
    if (pending.length === 0) return;
    const answers = await this.#lender.has(pending.map(({ id }) => id));
    for (const [index, { id, bytes, lengthBytes }] of pending.entries()) {
      if (answers[index] === true) {
        this.#borrowed.push({ id, lengthBytes });
        this.#count(lengthBytes);
      } else await this.#store(id, bytes);
    }
  }

  #count(lengthBytes: number): void {
    this.#counts.dataBlobs -= 1;
    this.#counts.dataAdded -= lengthBytes;
    this.#borrowedCounts.chunks += 1;
    this.#borrowedCounts.bytes += lengthBytes;
  }

  /**
   * Has the lender keep what it has, and then writes packs that say so. Nothing may refer to these chunks durably before
   * that.
   */
  async storeBorrowed(repository: Repository, onPack: (pack: PackContents) => void): Promise<void> {
    await this.flush();
    const chunks = this.#borrowed.splice(0);
    if (chunks.length === 0) return;
    const blocks = await this.#lender.keep(chunks);
    const writer = repository.chunkWriter('data', onPack);
    for (const block of blocks) await writer.addEncoded(repository.packs.encodeBorrowed(block));
    await writer.finish();
  }
}
