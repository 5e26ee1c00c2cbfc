import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

import { vi } from 'vitest';

import { createPrng } from './prng.ts';
import { inSoak } from './soak.ts';

let count = 0;

/**
 * Runs actions with the same random bytes and at the same time, so that the same steps give the same bytes and each
 * resulting state is examined only once. Each instance has its own bytes, since names must not occur twice. In the soak,
 * runs are random as usual.
 */
export class RepeatableRuns {
  readonly #seed = (count += 1);
  readonly #now = new Date();

  async run<T>(action: () => Promise<T>): Promise<T> {
    if (inSoak(true, false)) return await action();
    return await runSeeded(this.#seed, action, this.#now);
  }
}

/** Runs an action whose random bytes come from a seed, and at a fixed time, so that a schedule is the same in each run. */
export async function runSeeded<T>(
  seed: number,
  action: () => Promise<T>,
  now: Date = new Date('2026-01-01'),
): Promise<T> {
  const { randomBytes } = crypto;
  const prng = createPrng(seed);
  crypto.randomBytes = ((sizeBytes: number) => prng.bytes(sizeBytes)) as typeof randomBytes;
  syncBuiltinESMExports();
  vi.useFakeTimers({ toFake: ['Date'], now });
  try {
    return await action();
  } finally {
    vi.useRealTimers();
    crypto.randomBytes = randomBytes;
    syncBuiltinESMExports();
  }
}
