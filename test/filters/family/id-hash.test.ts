import { describe, expect, it } from 'vitest';
import { takeUniformId } from '../../../src/filters/family/id-hash.ts';
import {
  BloomFilter,
  CountingBloomFilter,
  CuckooFilter,
  DibfFilter,
  DynamicBloomArray,
  DynamicBloomFilter,
  DynamicCountingFilter,
} from '../../../src/filters/family/index.ts';
import { createPrng } from '../../support/prng.ts';

const options = { capacity: 1000, falsePositiveRate: 0.01 };
const uniform = { ...options, idHash: takeUniformId };
const SEED = 31;
const REFUSED = 'can be neither saved nor merged';

describe.each([
  ['bloom', BloomFilter],
  ['counting-bloom', CountingBloomFilter],
  ['cuckoo', CuckooFilter],
  ['dynamic-bloom', DynamicBloomFilter],
  ['dynamic-count', DynamicCountingFilter],
  ['bloom-array', DynamicBloomArray],
  ['dibf', DibfFilter],
] as const)(`%s with ids that are uniform (seed ${SEED})`, (_name, structure) => {
  const random = createPrng(SEED);
  const members = Array.from({ length: options.capacity }, () => random.bytes(20));
  const absent = Array.from({ length: 20_000 }, () => random.bytes(20));
  const filter = structure.forCapacity(uniform);
  for (const id of members) filter.add(id);

  it('finds all of them, and absent ones as seldom as its rate says', () => {
    expect(members.every((id) => filter.has(id))).toBe(true);
    const rate = absent.filter((id) => filter.has(id)).length / absent.length;
    expect(rate, `seed ${SEED}`).toBeLessThan(0.015);
  });

  it('is neither saved nor merged, since its bytes would not tell how ids were put in', () => {
    expect(() => filter.save()).toThrow(REFUSED);
  });
});

it.each([BloomFilter, CountingBloomFilter, DynamicBloomFilter, DynamicCountingFilter])(
  '%o is not merged with one that hashes',
  (structure) => {
    type Mergeable = { merge(other: unknown): void };
    const [hashed, taken] = [options, uniform].map((each) => structure.forCapacity(each) as unknown as Mergeable);
    expect(() => hashed!.merge(taken)).toThrow(REFUSED);
    expect(() => taken!.merge(hashed)).toThrow(REFUSED);
  },
);

it('the words of a uniform id are its bytes, other ones with another seed', () => {
  const id = Uint8Array.from({ length: 20 }, (_, index) => index);
  const words = new Uint32Array(4);
  takeUniformId(id, 0, words);
  expect([...words]).toEqual([0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c]);
  takeUniformId(id, 1, words);
  expect([...words]).toEqual([0x13121110, 0x03020100, 0x07060504, 0x0b0a0908]);
});
