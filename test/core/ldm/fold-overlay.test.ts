import { expect, it } from 'vitest';
import { FoldOverlay } from '../../../src/core/ldm/fold-overlay.ts';
import { createPrng } from '../../support/prng.ts';

it('counts per entry as a Map does, the first and the last entry too', () => {
  const prng = createPrng(7);
  const overlay = new FoldOverlay();
  const expected = new Map<number, number>();
  for (let step = 0; step < 20_000; step += 1) {
    const entry = prng.pick([prng.int(3000), prng.int(50) * 2 ** 24, 0, 2 ** 32 - 2]);
    const count = (expected.get(entry) ?? 0) + 1;
    expected.set(entry, count);
    expect(overlay.add(entry)).toBe(count);
  }
  const found = new Map<number, number>();
  overlay.forEach((entry, count) => found.set(entry, count));
  expect(found).toEqual(expected);
});
