import { describe, expect, it } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { planArray, planGroup } from '../../../src/filters/family/array-plan.ts';
import { DynamicBloomArray, type BloomArrayOptions } from '../../../src/filters/family/dynamic-bloom-array.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { createPrng } from '../../support/prng.ts';

const SEED = 10;

function make(options: Partial<BloomArrayOptions> = {}): DynamicBloomArray {
  return DynamicBloomArray.forCapacity({ capacity: 400, falsePositiveRate: 0.01, ...options });
}

it('the rate is shared so that all groups together have it', () => {
  const plan = planArray({ capacity: 8000, falsePositiveRate: 0.01 });
  let sum = 0;
  for (let group = 0; group < 200; group++) {
    const { positions, hashes } = planGroup(plan, group)!;
    // The fill of a filter is one half at most, by formula (2).
    expect(Math.exp((-hashes * 1000) / positions)).toBeGreaterThan(0.499);
    sum += 8 * 2 ** -hashes;
  }
  expect(sum).toBeLessThan(0.01);
  expect(sum).toBeGreaterThan(0.005);
});

describe('values that are out of range', () => {
  it.each<Partial<BloomArrayOptions>>([
    { capacity: 0 },
    { capacity: 1e9, filterCapacity: 1e9 },
    { filterCapacity: 0.5 },
    { groupFilters: 0 },
    { groupFilters: 33 },
    { falsePositiveRate: 1 },
    { falsePositiveRate: 1e-9 },
  ])('%j are refused', (options) => {
    expect(() => make(options)).toThrow(UsageError);
  });

  it(`are refused in saved arrays (seed ${SEED})`, () => {
    const array = make();
    const random = createPrng(SEED);
    for (let added = 0; added < 60; added++) array.add(random.bytes(20));
    const { numbers, arrays } = decodeSaved('bloom-array', array.save());
    const forge = (at: number, value: number): Uint8Array =>
      encodeSaved('bloom-array', numbers.with(at, value), arrays);
    expect(DynamicBloomArray.load(forge(5, 49)).elements).toBe(11);
    const withEmptyGroup = encodeSaved(
      'bloom-array',
      [...numbers, ...Array<number>(16).fill(0)],
      [...arrays, ...Array.from({ length: 8 }, () => new Uint8Array(0))],
    );
    expect(() => DynamicBloomArray.load(withEmptyGroup)).toThrow(CorruptDataError);
    // All deleted; more deleted than there are; more than fit; more that are nowhere than there are; other groups.
    for (const [at, value] of [
      [5, 50],
      [5, 51],
      [4, 51],
      [3, 60],
      [1, 4],
      [0, 1],
    ] as const) {
      expect(() => DynamicBloomArray.load(forge(at, value)), `${at}: ${value}`).toThrow(CorruptDataError);
    }
  });
});
