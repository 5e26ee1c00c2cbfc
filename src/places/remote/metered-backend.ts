import type {
  Backend,
  BackendFile,
  NextReads,
  Place,
  StagedFile,
  Traffic,
  Verify,
} from '../../core/backend/backend.ts';
import { PassingBackend } from '../../core/backend/passing-backend.ts';
import type { RateLimiter, TransferLimits } from './rate-limiter.ts';

interface MeterOptions extends TransferLimits {
  /** Replaces the number of the backend. */
  readonly readsAtOnce?: number | undefined;
}

/**
 * Counts what is asked of another machine, and limits its bytes per second. The lock is never limited: its heartbeat
 * must not wait for a transfer.
 */
export class MeteredBackend extends PassingBackend {
  readonly #inner: Backend;
  readonly #options: MeterOptions;
  readonly #traffic = { requests: 0, uploadedBytes: 0, downloadedBytes: 0 };

  constructor(inner: Backend, options: MeterOptions = {}) {
    super(inner);
    this.#inner = inner;
    this.#options = options;
  }

  override get readsAtOnce(): number {
    return this.#options.readsAtOnce ?? this.#inner.readsAtOnce;
  }

  override get traffic(): Traffic {
    return { ...this.#traffic };
  }

  override async examine(): Promise<Place | undefined> {
    this.#traffic.requests += 1;
    return await super.examine();
  }

  override async prepare(directories: readonly string[], isSingleWriter?: boolean): Promise<void> {
    this.#traffic.requests += directories.length;
    await super.prepare(directories, isSingleWriter);
  }

  override async list(directory: string): Promise<BackendFile[]> {
    this.#traffic.requests += 1;
    return await super.list(directory);
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    this.#traffic.requests += 1;
    return await super.sizeOf(name);
  }

  override async sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    this.#traffic.requests += 1;
    return await super.sizesOf(names);
  }

  /** Its size is known only afterwards, so what comes next waits for it. */
  override async read(name: string): Promise<Uint8Array> {
    this.#traffic.requests += 1;
    const bytes = await super.read(name);
    this.#traffic.downloadedBytes += bytes.length;
    await this.#options.download?.take(bytes.length);
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const { download } = this.#options;
    for (const [start, piece] of piecesOf(target, download)) {
      await download?.take(piece.length);
      this.#traffic.requests += 1;
      await super.readRange(name, offset + start, piece);
      this.#traffic.downloadedBytes += piece.length;
    }
  }

  override async stage(isReadOften?: boolean): Promise<StagedFile> {
    const file = await super.stage(isReadOften);
    return {
      append: async (bytes) => {
        const { upload } = this.#options;
        for (const [, piece] of piecesOf(bytes, upload)) {
          await upload?.take(piece.length);
          await file.append(piece);
          this.#traffic.uploadedBytes += piece.length;
        }
      },
      flush: async () => file.flush(),
      publish: async (name, verify, isNew, after) => {
        this.#traffic.requests += 1;
        await file.publish(name, verify, isNew, after);
      },
      discard: async () => file.discard(),
    };
  }

  override async publish(name: string, bytes: Uint8Array, verify?: Verify, after?: Verify): Promise<void> {
    await this.#options.upload?.take(bytes.length);
    this.#traffic.requests += 1;
    this.#traffic.uploadedBytes += bytes.length;
    await super.publish(name, bytes, verify, after);
  }

  override async move(source: string, target: string): Promise<void> {
    this.#traffic.requests += 1;
    await super.move(source, target);
  }

  override async remove(name: string): Promise<boolean> {
    this.#traffic.requests += 1;
    return await super.remove(name);
  }

  override async settle(directories: readonly string[]): Promise<void> {
    this.#traffic.requests += directories.length;
    await super.settle(directories);
  }

  override async claim(name: string, next?: NextReads): Promise<void> {
    this.#traffic.requests += 1;
    await super.claim(name, next);
  }

  override async refresh(name: string): Promise<boolean> {
    this.#traffic.requests += 1;
    return await super.refresh(name);
  }

  override async heartbeatOf(name: string): Promise<string | undefined> {
    this.#traffic.requests += 1;
    return await super.heartbeatOf(name);
  }

  override async release(name: string): Promise<boolean> {
    this.#traffic.requests += 1;
    return await super.release(name);
  }
}

/** Yields the bytes in pieces that pass at once, each with its offset. Without a limit that is one piece. */
function* piecesOf(bytes: Uint8Array, limiter: RateLimiter | undefined): Generator<readonly [number, Uint8Array]> {
  const pieceBytes = limiter?.pieceBytes ?? bytes.length;
  if (bytes.length <= pieceBytes) yield [0, bytes];
  else
    for (let start = 0; start < bytes.length; start += pieceBytes)
      yield [start, bytes.subarray(start, start + pieceBytes)];
}
