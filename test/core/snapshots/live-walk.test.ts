import { expect, test } from 'vitest';

import { EntrySet } from '../../../src/core/snapshots/live-walk.ts';
import { createPrng } from '../../support/prng.ts';

test('the set of marked entries keeps what it has when it grows, however far', () => {
  const prng = createPrng(20261122);
  const [marked, expected] = [new EntrySet(), new Set<number>()];
  for (let count = 0; count < 50_000; count += 1) {
    // Around the sizes at which it grows, and far beyond them.
    const entry = prng.int(count % 2 === 0 ? 20_000 : 10_000_000);
    const isNew = !expected.has(entry);
    if (marked.has(entry) === isNew || marked.add(entry) !== isNew) expect.fail(`wrong about ${entry}`);
    expected.add(entry);
  }
  expect([...expected].filter((entry) => !marked.has(entry))).toEqual([]);
  for (let entry = 0; entry < 100_000; entry += 1) {
    if (marked.has(entry) !== expected.has(entry)) expect.fail(`marked ${entry}, which was never added`);
  }
});
