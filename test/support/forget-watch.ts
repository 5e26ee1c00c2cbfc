import type { SuspensionLedger } from './suspension-ledger.ts';

/** A snapshot that existed at some moment, and how many current manifests it had at most. */
interface Seen {
  readonly timeMs: number;
  copies: number;
}

/**
 * What a rule that keeps the newest snapshots may select, in the true state of a repository, whatever listings say. A
 * snapshot may go if enough others, as new or newer, existed at some moment of the command: others may be deleted or saved
 * beside it, and which of them it counts is open. One that was gone before it began must not count.
 */
export class ForgetWatch {
  readonly #ledger: SuspensionLedger;
  readonly #keepLast: number;
  readonly #seen = new Map<string, Seen>();
  readonly #released = new Set<string>();

  constructor(ledger: SuspensionLedger, keepLast: number) {
    this.#ledger = ledger;
    this.#keepLast = keepLast;
    this.observe();
  }

  /** To be called after each change. Releases what may be deleted from now on. */
  observe(): void {
    const copies = new Map<string, number>();
    for (const { madeAs, timeMs } of this.#ledger.present()) {
      copies.set(madeAs, (copies.get(madeAs) ?? 0) + 1);
      const seen = this.#seen.get(madeAs) ?? { timeMs, copies: 0 };
      seen.copies = Math.max(seen.copies, copies.get(madeAs)!);
      this.#seen.set(madeAs, seen);
    }
    for (const [madeAs, { timeMs }] of this.#seen) {
      if (this.#released.has(madeAs) || this.#newerThan(madeAs, timeMs) < this.#keepLast) continue;
      this.#released.add(madeAs);
      this.#ledger.release(madeAs);
    }
  }

  #newerThan(id: string, thanMs: number): number {
    let count = 0;
    for (const [madeAs, { timeMs, copies }] of this.#seen) if (madeAs !== id && timeMs >= thanMs) count += copies;
    return count;
  }
}
