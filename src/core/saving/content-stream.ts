import type { PathInput } from '../util/byte-string.ts';
import { throwIfAborted } from '../util/cancellation.ts';

/** A file of a snapshot whose content comes from elsewhere, such as standard input. */
export interface StreamedFile {
  /** The path in the snapshot. It is taken as absolute. */
  readonly path: PathInput;
  /** Read once, when the repository is ready. If it throws, no snapshot is made. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** Reads the content of a streamed file. Nothing waits for it in the event loop: timers run while it stalls. */
export class ContentStream {
  isAtEnd = false;
  sizeBytes = 0;
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  /** What did not fit into the last buffer. */
  #rest: Uint8Array = new Uint8Array(0);

  constructor({ content }: StreamedFile, signal: AbortSignal | undefined) {
    this.#iterator = content[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  /** Reads into `buffer` from offset `end` until the buffer is full or the content ends. Returns the new end offset. */
  async fill(buffer: Uint8Array, end: number): Promise<number> {
    while (!this.isAtEnd && end < buffer.length) {
      if (this.#rest.length === 0) {
        const next = await this.#next();
        if (next.done === true) this.isAtEnd = true;
        else this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, buffer.length - end);
      buffer.set(part, end);
      end += part.length;
      this.sizeBytes += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return end;
  }

  /** An interruption ends the wait for a part at once. */
  async #next(): Promise<IteratorResult<Uint8Array>> {
    const signal = this.#signal;
    throwIfAborted(signal);
    if (signal === undefined) return await this.#iterator.next();
    let abort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
    });
    try {
      return await Promise.race([this.#iterator.next(), aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** For content that is not read to its end. Does not wait: the part that was asked for last may never come. */
  close(): void {
    if (!this.isAtEnd) void Promise.resolve(this.#iterator.return?.()).catch(() => undefined);
  }
}
