import { randomBytes } from 'node:crypto';

/** Long enough for the browser to begin, and too short for a link that is passed on. */
const VALID_MS = 60_000;
const TICKETS_MAX = 100;

/**
 * Tickets for downloads, which a browser requests without the token. Each is good for one request within a minute, and
 * only the newest hundred are kept.
 */
export class Tickets<T> {
  readonly #open = new Map<string, { readonly value: T; readonly endMs: number }>();

  issue(value: T): string {
    const ticket = randomBytes(24).toString('base64url');
    this.#open.set(ticket, { value, endMs: performance.now() + VALID_MS });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= TICKETS_MAX) break;
      this.#open.delete(oldest);
    }
    return ticket;
  }

  /** Returns undefined for a ticket that was never issued, was used before, or has expired. */
  redeem(ticket: string): T | undefined {
    const issued = this.#open.get(ticket);
    this.#open.delete(ticket);
    return issued !== undefined && performance.now() < issued.endMs ? issued.value : undefined;
  }
}
