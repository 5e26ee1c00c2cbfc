import { MemoryStore } from './memory-store.ts';

/** Longer than a client takes between two requests that do not wait for each other. */
const PAUSE_MS = 25;

/** A store far away: what is asked without a pause is answered together. Each such burst is a wait. */
export class WaitingStore extends MemoryStore {
  override readonly requestsAtOnce: number = 32;
  waits = 0;
  #asked: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  override onRequest = async (_request: string, isDone: boolean): Promise<void> => {
    if (isDone) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#answer(), PAUSE_MS);
    await new Promise<void>((resolve) => this.#asked.push(resolve));
  };

  #answer(): void {
    this.waits += 1;
    for (const resolve of this.#asked.splice(0)) resolve();
  }
}
