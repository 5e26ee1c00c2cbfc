import * as fc from 'fast-check';
import { it } from 'vitest';

import { seedsOf } from './seeds.ts';

const SOAK_SEEDS = 20;

/** Asserts a property like `fc.assert`, with the seed of the test. */
export type Check = typeof fc.assert;

/** A test of a property for each seed: otherwise fast-check draws one from the clock, and what it finds is lost. */
export function testProperty(title: string, body: (check: Check) => void | Promise<void>, timeoutMs?: number): void {
  for (const seed of seedsOf(1, SOAK_SEEDS)) {
    const check = ((property: fc.IProperty<unknown>, parameters?: fc.Parameters<unknown>) =>
      fc.assert(property, { ...parameters, seed })) as Check;
    it(`${title} (seed ${seed})`, async () => body(check), timeoutMs);
  }
}
