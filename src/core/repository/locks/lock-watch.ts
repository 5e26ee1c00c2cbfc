import type { LockPlace } from '../../backend/backend.ts';

/** A holder counts as dead once the waiting process has seen its heartbeat unchanged for this long. */
export const STALE_AFTER_MS: number = 30 * 60_000;

/**
 * The same for a holder of another boot of this machine. It has most likely ended, but may run on a clone of this
 * machine: four heartbeats must be missing.
 */
export const STALE_AFTER_OTHER_BOOT_MS: number = 4 * 60_000;

/** A longer interval between two observations counts only this much: either process may have been suspended. */
const GAP_MS_MAX = 60_000;

interface Watched {
  heartbeat: string;
  seenMs: number;
  stillMs: number;
}

/** Watches the heartbeats of holders whose processes are not visible. Does not use the clocks of other machines. */
export class HeartbeatWatch {
  readonly #backend: LockPlace;
  readonly #watched = new Map<string, Watched>();

  constructor(backend: LockPlace) {
    this.#backend = backend;
  }

  /** Returns how long the heartbeat of a lock has been unchanged, in ms. `nowMs`: the time on a monotonic clock. */
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
