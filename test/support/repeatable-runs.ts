import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

import { vi } from 'vitest';

import { createPrng } from './prng.ts';
import { inSoak } from './soak.ts';

let count = 0;

/**
 * Runs actions with the same random bytes, at the same time: the same steps lead to the same bytes, so that
 * what they lead to need be examined only once. Others of the process get other bytes, since names must not
 * occur twice. In the soak nothing of that is done: there each run is a new one.
 */
export class RepeatableRuns {
  readonly #seed = (count += 1);
  readonly #now = new Date();

  async run<T>(action: () => Promise<T>): Promise<T> {
    if (inSoak(true, false)) return await action();
    const giveBack = this.#takeChanceAway();
    try {
      return await action();
    } finally {
      giveBack();
    }
  }

  #takeChanceAway(): () => void {
    const { randomBytes } = crypto;
    const prng = createPrng(this.#seed);
    crypto.randomBytes = ((sizeBytes: number) => prng.bytes(sizeBytes)) as typeof randomBytes;
    syncBuiltinESMExports();
    vi.useFakeTimers({ toFake: ['Date'], now: this.#now });
    return () => {
      vi.useRealTimers();
      crypto.randomBytes = randomBytes;
      syncBuiltinESMExports();
    };
  }
}
