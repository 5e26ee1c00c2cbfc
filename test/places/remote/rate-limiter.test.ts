import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { RateLimiter } from '../../../src/places/remote/rate-limiter.ts';
import type { RateClock } from '../../../src/places/remote/rate-limiter.ts';
import { testProperty } from '../../support/property.ts';

/** A clock whose time passes only while something sleeps. */
class VirtualClock implements RateClock {
  #nowMs = 1000;
  readonly #sleepers: { readonly untilMs: number; readonly wake: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  async sleep(durationMs: number): Promise<void> {
    await new Promise<void>((wake) => this.#sleepers.push({ untilMs: this.#nowMs + durationMs, wake }));
  }

  pass(durationMs: number): void {
    this.#nowMs += durationMs;
  }

  /** Lets time pass until nothing sleeps. */
  async run(work: Promise<unknown>): Promise<void> {
    const state = { isDone: false };
    const ending = work.then(() => (state.isDone = true));
    while (!state.isDone) {
      await new Promise(setImmediate);
      const next = this.#sleepers.sort((a, b) => a.untilMs - b.untilMs).shift();
      if (next === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, next.untilMs);
      next.wake();
    }
    await ending;
  }
}

testProperty('never lets more pass than the rate and a quarter of a second', async (check) => {
  await check(
    fc.asyncProperty(
      fc.integer({ min: 1000, max: 10_000_000 }),
      fc.array(fc.array(fc.nat(500_000), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.nat(5000),
      async (rate, transfers, idleMs) => {
        const clock = new VirtualClock();
        const limiter = new RateLimiter(rate, clock);
        clock.pass(idleMs);
        const startMs = clock.nowMs();
        let passedBytes = 0;
        const transfer = async (pieces: readonly number[]): Promise<void> => {
          for (const sizeBytes of pieces) {
            await limiter.take(sizeBytes);
            passedBytes += sizeBytes;
            const allowedBytes = (rate * (clock.nowMs() - startMs + 250)) / 1000;
            expect(passedBytes).toBeLessThanOrEqual(allowedBytes + 1);
          }
        };
        await clock.run(Promise.all(transfers.map(transfer)));
        // The whole rate is used: nothing waits longer than it must.
        expect(clock.nowMs() - startMs).toBeLessThanOrEqual((passedBytes / rate) * 1000 + 1);
      },
    ),
    { numRuns: 50 },
  );
});

it('lets concurrent transfers take turns', async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(100_000, clock);
  const order: string[] = [];
  const transfer = async (name: string): Promise<void> => {
    for (let piece = 0; piece < 3; piece += 1) {
      await limiter.take(limiter.pieceBytes);
      order.push(name);
    }
  };
  await clock.run(Promise.all([transfer('a'), transfer('b')]));
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

it.each([
  [1000, 16_384],
  [400_000, 100_000],
  [1e9, 1_048_576],
])('passes pieces of a quarter of a second: %d bytes per second', (rate, pieceBytes) => {
  expect(new RateLimiter(rate, new VirtualClock()).pieceBytes).toBe(pieceBytes);
});
