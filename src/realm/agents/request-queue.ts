/**
 * The requests of members: a limited number runs at the same time, because each takes memory until its answer is sent,
 * and a limited number waits. The others learn that the agent is busy.
 */
export class RequestQueue {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  #runningCount = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limits: { readonly runningMax: number; readonly waitingMax: number }) {
    this.#runningMax = limits.runningMax;
    this.#waitingMax = limits.waitingMax;
  }

  /** Waits until a request may run; `leave` ends it. Returns false at once if too many wait. */
  async enter(): Promise<boolean> {
    if (this.#runningCount < this.#runningMax) {
      this.#runningCount += 1;
      return true;
    }
    if (this.#waiting.length >= this.#waitingMax) return false;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return true;
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#runningCount -= 1;
    else next();
  }
}
