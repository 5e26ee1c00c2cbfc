import { describe, expect, it } from 'vitest';
import { HashSetFilter } from '../../../src/filters/family/hash-set.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('hash set', {
  make: () => HashSetFilter.forCapacity(),
  load: (bytes) => HashSetFilter.load(bytes),
  exact: true,
  erasable: true,
});

describeMembership('hash set in several Sets', {
  make: () => HashSetFilter.forCapacity({ setEntriesMax: 7 }),
  load: (bytes) => HashSetFilter.load(bytes, 7),
  exact: true,
  erasable: true,
  rateCapacity: 40,
});

describe('hash set', () => {
  it('has after merging what was in either', () => {
    const random = createPrng(9);
    const [one, other] = [HashSetFilter.forCapacity({ setEntriesMax: 20 }), HashSetFilter.forCapacity()];
    const ids = Array.from({ length: 100 }, () => random.bytes(20));
    for (const [index, id] of ids.entries()) {
      if (index < 60) one.add(id);
      if (index >= 40) other.add(id);
    }
    one.merge(other);
    one.merge(one);
    expect([one.elements, other.elements]).toEqual([100, 60]);
    expect(ids.every((id) => one.has(id))).toBe(true);
  });
});
