import type { Backend } from '../backend/backend.ts';

/** For how long a heartbeat must stand still, under the eyes of the process that waits, before its holder is taken for dead. */
export const STALE_AFTER_MS: number = 30 * 60_000;

/** Two looks further apart count as this much only: in between, this process may have been suspended, and the holder with it. */
const GAP_MS_MAX = 60_000;

interface Watched {
  heartbeat: string;
  seenMs: number;
  stillMs: number;
}

/** Watches the heartbeats of holders of whom nothing else can be known. Clocks of other machines are never read. */
export class HeartbeatWatch {
  readonly #backend: Backend;
  readonly #watched = new Map<string, Watched>();

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Looks once more, at `nowMs` of a monotonic clock; true when the heartbeat has stood still for long enough. */
  async standsStill(name: string, nowMs: number): Promise<boolean> {
    const heartbeat = await this.#backend.heartbeatOf(name);
    if (heartbeat === undefined) return false;
    const watched = this.#watched.get(name);
    if (watched === undefined || watched.heartbeat !== heartbeat) {
      this.#watched.set(name, { heartbeat, seenMs: nowMs, stillMs: 0 });
      return false;
    }
    watched.stillMs += Math.min(nowMs - watched.seenMs, GAP_MS_MAX);
    watched.seenMs = nowMs;
    return watched.stillMs >= STALE_AFTER_MS;
  }
}
