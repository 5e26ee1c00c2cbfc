import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { planFilter, type FilterPlan } from '../../../src/core/ldm/formulas.ts';
import { LdmFilter, NO_ENTRY } from '../../../src/core/ldm/ldm-filter.ts';
import { randomWords } from '../../../src/core/ldm/random-ids.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { ID_BYTES, locationOf, randomIds } from './filter-support.ts';

const UNKNOWN = -1;
/** Only 211 positions: with 800 live chunks all counters saturate. It grows, into a sound plan, after 1000. */
const CROWDED: FilterPlan = { capacity: 1000, hashes: 4, positions: 211, fprTarget: 0.07, fprPredicted: 1 };

interface Churn {
  readonly chunkCount: number;
  readonly operationCount: number;
  /** Operations in a wave. In the first, third, ... wave chunks come; in the others nearly all of them go. */
  readonly waveLength: number;
  readonly seed: number;
}

/**
 * Random operations on random chunks. Before each the chunk is looked up: it must be found exactly when it is known, with
 * the right number of references. A plain array is the oracle. Waves, because a counter that went down too far shows
 * only when few chunks are left. Returns the number of operations, look-ups included.
 */
function churn(filter: LdmFilter, { chunkCount, operationCount, waveLength, seed }: Churn): number {
  const ids = randomIds(chunkCount, seed);
  const nextWord = randomWords(seed + 1);
  const refs = new Int32Array(chunkCount).fill(UNKNOWN);
  const location = locationOf(1);
  const before = { live: filter.liveCount, dead: filter.deadCount };
  let operations = 0;
  while (operations < operationCount) {
    const isFilling = Math.floor(operations / waveLength) % 2 === 0;
    const dice = nextWord() >>> 28;
    const chunk = Math.floor((nextWord() / 2 ** 32) * chunkCount);
    const expected = refs[chunk]!;
    const entry = filter.find(ids, chunk * ID_BYTES);
    operations++;
    // Not expect(): ten million of those take a minute.
    const found = entry === NO_ENTRY ? UNKNOWN : filter.refs(entry);
    if (found !== expected) assert.fail(`seed ${seed}, chunk ${chunk}: ${found} references, not ${expected}`);
    if (expected === UNKNOWN) {
      if (!isFilling && dice > 0) continue;
      refs[chunk] = filter.retain(filter.insert(ids, chunk * ID_BYTES, location));
      operations += 2;
    } else if (isFilling ? expected === 0 || dice < 4 : dice === 0) {
      refs[chunk] = filter.retain(entry);
      operations++;
    } else if (expected === 0 && dice < 4) {
      filter.forget(entry);
      refs[chunk] = UNKNOWN;
      operations++;
    } else if (expected > 0 && (!isFilling || dice < 8)) {
      refs[chunk] = filter.release(entry);
      operations++;
    }
  }
  assert.equal(filter.liveCount - before.live, refs.filter((count) => count > 0).length);
  assert.equal(filter.deadCount - before.dead, refs.filter((count) => count === 0).length);
  return operations;
}

/** In the soak ten million operations. */
describe('no false negative in random operations', () => {
  it('with growth from one chunk to more than 40,000', () => {
    const filter = new LdmFilter(planFilter({ capacity: 1, hashes: 7 }));
    const operationCount = inSoak(7_000_000, 2_100_000);
    const operations = churn(filter, { chunkCount: 60_000, operationCount, waveLength: operationCount / 7, seed: 5 });
    expect(filter.liveCount).toBeGreaterThan(40_000);
    expect(filter.plan.capacity).toBeGreaterThanOrEqual(filter.liveCount);
    expect(operations).toBeGreaterThanOrEqual(operationCount);
  });

  const seeds = seedsOf(inSoak(10, 5), 20);

  it(`with saturated counters, releases, and growth out of it (seeds ${seeds.join(', ')})`, () => {
    let operations = 0;
    let saturatedRounds = 0;
    for (const seed of seeds) {
      const filter = new LdmFilter(CROWDED);
      operations += churn(filter, { chunkCount: 900, operationCount: 90_000, waveLength: 10_000, seed });
      if (filter.saturatedCount > 100) saturatedRounds++;
      operations += churn(filter, { chunkCount: 1500, operationCount: 15_000, waveLength: 15_000, seed: seed + 1000 });
      expect(filter.plan.capacity).toBeGreaterThan(CROWDED.capacity);
      expect(filter.saturatedCount).toBe(0);
    }
    expect(saturatedRounds).toBe(seeds.length);
    expect(operations).toBeGreaterThanOrEqual(seeds.length * 1e5);
  });
});
