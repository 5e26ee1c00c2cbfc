import type { Backend } from '../backend/backend.ts';

/** A holder counts as dead once the waiting process has seen its heartbeat unchanged for this long. */
export const STALE_AFTER_MS: number = 30 * 60_000;

/**
 * The same for a holder of another boot of this machine. It is most likely gone, but it may run on a clone of this
 * machine: four heartbeats must be missing.
 */
export const STALE_AFTER_OTHER_BOOT_MS: number = 4 * 60_000;

/** Two looks further apart count only this much: this process may have been suspended in between, and the holder too. */
const GAP_MS_MAX = 60_000;

interface Watched {
  heartbeat: string;
  seenMs: number;
  stillMs: number;
}

/** Watches the heartbeats of holders whose process cannot be seen. Clocks of other machines are never read. */
export class HeartbeatWatch {
  readonly #backend: Backend;
  readonly #watched = new Map<string, Watched>();

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** For how long, in ms, the heartbeat of a lock has been unchanged. `nowMs`: now, on a monotonic clock. */
  async unchangedMs(name: string, nowMs: number): Promise<number> {
    const heartbeat = await this.#backend.heartbeatOf(name);
    if (heartbeat === undefined) return 0;
    const watched = this.#watched.get(name);
    if (watched === undefined || watched.heartbeat !== heartbeat) {
      this.#watched.set(name, { heartbeat, seenMs: nowMs, stillMs: 0 });
      return 0;
    }
    watched.stillMs += Math.min(nowMs - watched.seenMs, GAP_MS_MAX);
    watched.seenMs = nowMs;
    return watched.stillMs;
  }
}
