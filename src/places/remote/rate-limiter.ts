import { setTimeout as delay } from 'node:timers/promises';

/** A monotonic clock. Tests use their own. */
export interface RateClock {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}

/** What was not used in this time may be used later at once. */
const BURST_MS = 250;
/** Bytes that pass at once are those of this time, so that no transfer waits long for another one. */
const PIECE_MS = 250;
const PIECE_BYTES_MIN = 16 * 1024;
const PIECE_BYTES_MAX = 1024 * 1024;

/** Limits the bytes per second of any number of concurrent transfers, in the order in which they ask (a token bucket). */
export class RateLimiter {
  /** Larger transfers take the bytes piece by piece, so that concurrent ones take turns. */
  readonly pieceBytes: number;
  readonly #bytesPerMs: number;
  readonly #clock: RateClock;
  /** When all bytes that were taken so far have passed. */
  #freeAtMs = -Infinity;

  constructor(bytesPerSecond: number, clock: RateClock) {
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#clock = clock;
    const pieceBytes = Math.floor(this.#bytesPerMs * PIECE_MS);
    this.pieceBytes = Math.min(Math.max(pieceBytes, PIECE_BYTES_MIN), PIECE_BYTES_MAX);
  }

  /** Resolves when this number of bytes may pass. */
  async take(sizeBytes: number): Promise<void> {
    const nowMs = this.#clock.nowMs();
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - BURST_MS) + sizeBytes / this.#bytesPerMs;
    const waitMs = this.#freeAtMs - nowMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs);
  }
}

/** The limits of all transfers of a command. */
export interface TransferLimits {
  readonly upload?: RateLimiter | undefined;
  readonly download?: RateLimiter | undefined;
}

/** Limits in bytes per second; undefined for no limit. */
export function transferLimits(options: {
  readonly uploadLimit: number | undefined;
  readonly downloadLimit: number | undefined;
  readonly signal: AbortSignal;
}): TransferLimits {
  const clock = realRateClock(options.signal);
  const limiter = (bytesPerSecond: number | undefined): RateLimiter | undefined =>
    bytesPerSecond === undefined ? undefined : new RateLimiter(bytesPerSecond, clock);
  return { upload: limiter(options.uploadLimit), download: limiter(options.downloadLimit) };
}

/** Real time, in which nothing waits any more once the signal is aborted. */
function realRateClock(signal: AbortSignal): RateClock {
  return {
    nowMs: () => performance.now(),
    sleep: async (durationMs) => delay(durationMs, undefined, { signal }).catch(() => undefined),
  };
}
