import { expect, it } from 'vitest';

import { countersWithout } from '../../../src/core/ldm/counters-without.ts';
import { LdmFilter } from '../../../src/core/ldm/ldm-filter.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { planeOf } from '../../../src/core/ldm/plane.ts';
import { ID_BYTES, locationOf, randomIds } from './filter-support.ts';

const SEED = 31;
const PLAN = planFilter({ capacity: 2000 });
const LOCATION = locationOf(0);

it(`counters without some chunks are those of the others, and the filter stays as it is (seed ${SEED})`, () => {
  const ids = randomIds(1000, SEED);
  const [filter, others] = [new LdmFilter(PLAN), new LdmFilter(PLAN)];
  const leftOut = new Set<number>();
  for (let index = 0; index < 1000; index += 1) {
    const entry = filter.insert(ids, index * ID_BYTES, LOCATION);
    // Of dead chunks, nothing is counted.
    if (index % 5 === 0) continue;
    filter.retain(entry);
    if (index % 3 === 0) leftOut.add(entry);
    else others.retain(others.insert(ids, index * ID_BYTES, LOCATION));
  }
  const before = Buffer.from(filter.counters.bytes);
  const part = countersWithout(filter, (entry) => leftOut.has(entry));
  expect(part.liveCount).toBe(others.liveCount);
  expect(Buffer.from(planeOf(part.counters)).equals(planeOf(others.counters))).toBe(true);
  expect(before.equals(filter.counters.bytes)).toBe(true);
});

it('a counter that is saturated stays, because other chunks may have it', () => {
  const filter = new LdmFilter(PLAN);
  const ids = new Uint8Array(20 * ID_BYTES);
  // Only the last word differs, which decides on no position.
  for (let index = 0; index < 20; index += 1) ids[index * ID_BYTES + 16] = index;
  const entries = Array.from({ length: 20 }, (_, index) => filter.insert(ids, index * ID_BYTES, LOCATION));
  for (const entry of entries) filter.retain(entry);
  const { counters } = countersWithout(filter, (entry) => entry !== entries[7]);
  expect(planeOf(counters)).toEqual(planeOf(filter.counters));
});
