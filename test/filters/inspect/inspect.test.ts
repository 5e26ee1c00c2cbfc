import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { inspectFilter } from '../../../src/filters/inspect/inspect.ts';
import type { InspectResult } from '../../../src/filters/inspect/inspect.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository, TINY_CHUNKS } from '../../support/test-repository.ts';

/** The sum of value times count. */
function weigh(counts: readonly number[]): number {
  return counts.reduce((sum, count, value) => sum + count * value, 0);
}

async function inspectFilled(): Promise<InspectResult> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS, capacity: 400, hashes: 5 });
  writeFileSync(join(repository.source, 'data'), createPrng(5).bytes(600_000));
  await repository.backup();
  const result = await inspectFilter(repository.context);
  expect(result.statistics).toEqual((await collectStats(repository.context)).filter);
  return result;
}

describe('inspect', () => {
  it('counts every position and every live chunk', async () => {
    const { statistics, countersExpected, chainsExpected, savedChainsExpected, plan } = await inspectFilled();
    const { counterHistogram, chains, savedChains, elements, positions, hashes } = statistics;
    expect(elements).toBeGreaterThan(200);
    expect(counterHistogram.reduce((sum, count) => sum + count, 0)).toBe(positions);
    expect(weigh(counterHistogram)).toBe(elements * hashes);
    expect(weigh(chains.histogram)).toBe(elements);
    expect(countersExpected).toHaveLength(counterHistogram.length);
    expect(weigh(countersExpected)).toBeCloseTo(elements * hashes, 3);
    expect(weigh(savedChains.histogram)).toBe(elements);
    for (const [expected, found] of [
      [chainsExpected, chains],
      [savedChainsExpected, savedChains],
    ] as const) {
      expect(expected).toHaveLength(found.histogram.length);
      expect(expected[0]).toBe(0);
      // The part of longer chains than occur is small.
      expect(weigh(expected) / elements).toBeGreaterThan(0.95);
      // With 256 positions or more, chance is far less than that.
      expect(Math.abs(found.histogram[1]! / expected[1]! - 1)).toBeLessThan(0.3);
    }
    expect(plan.fprPredicted).toBeGreaterThan(statistics.fprPredicted);
    expect(statistics.fprProbes.seed).toBeTypeOf('number');
  });

  it('says when the filter will grow, and to what', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS, capacity: 20, hashes: 7 });
    writeFileSync(join(repository.source, 'a'), 'first');
    await repository.backup();
    const before = await inspectFilter(repository.context);
    expect(before).toMatchObject({ deadElements: 0, elementsUntilGrowth: 20 - before.statistics.elements });
    expect(before.nextPlan).toMatchObject({ capacity: 30, hashes: 7 });
    for (let index = 0; index < before.elementsUntilGrowth + 1; index++) {
      writeFileSync(join(repository.source, `file-${index}`), `content ${index}`);
    }
    await repository.backup();
    const after = await inspectFilter(repository.context);
    expect(after.plan.capacity).toBeGreaterThan(20);
    expect(after.plan.fprPredicted).toBeLessThanOrEqual(after.plan.fprTarget);
  });

  it('draws an empty filter', async () => {
    const repository = await makeTestRepository();
    const { statistics, countersExpected } = await inspectFilter(repository.context);
    expect(statistics.counterHistogram[0]).toBe(statistics.positions);
    expect(countersExpected[0]).toBe(statistics.positions);
    expect(statistics.chains.histogram).toEqual([0]);
  });
});
