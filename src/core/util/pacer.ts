import { throwIfAborted } from './cancellation.ts';

/** How long synchronous work may run before timers and signals are handled. */
const PAUSE_INTERVAL_MS = 10;

interface PacerOptions {
  /** Aborted with a `CancelledError` as its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Returns a promise while the receiver of results and notices is too slow. */
  readonly awaitOutput?: (() => Promise<void> | undefined) | undefined;
}

/** Interrupts long work so that timers and signal handlers can run, and so that slow readers of its output keep up. */
export class Pacer {
  readonly #signal: AbortSignal | undefined;
  readonly #awaitOutput: PacerOptions['awaitOutput'];
  #nextMs = performance.now() + PAUSE_INTERVAL_MS;

  constructor({ signal, awaitOutput }: PacerOptions) {
    this.#signal = signal;
    this.#awaitOutput = awaitOutput;
  }

  /** Returns a promise if it is time for a pause: wait for it. Throws, or rejects with, the abort reason of the signal. */
  pause(): Promise<void> | undefined {
    this.throwIfAborted();
    const output = this.#awaitOutput?.();
    if (output !== undefined) return output.then(() => this.throwIfAborted());
    if (performance.now() < this.#nextMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#nextMs = performance.now() + PAUSE_INTERVAL_MS;
        resolve();
      });
    });
  }

  throwIfAborted(): void {
    throwIfAborted(this.#signal);
  }
}
