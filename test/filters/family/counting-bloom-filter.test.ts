import { describe, expect, test } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { isPrime } from '../../../src/core/ldm/positions.ts';
import { CountingBloomFilter } from '../../../src/filters/family/counting-bloom-filter.ts';
import { partitionSizes } from '../../../src/filters/family/counting-shape.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

const kinds = [
  { counterBits: 4, isPartitioned: false },
  { counterBits: 8, isPartitioned: true },
  { counterBits: 16, isPartitioned: false },
  { counterBits: 4, isPartitioned: true },
] as const;

for (const kind of kinds) {
  const name = `the ${kind.isPartitioned ? 'partitioned ' : ''}counting Bloom filter with ${kind.counterBits} bits`;
  describeMembership(name, {
    make: (options) => CountingBloomFilter.forCapacity({ ...options, ...kind }),
    load: (bytes) => CountingBloomFilter.load(bytes),
    erasable: true,
    mergeable: true,
    countsTwice: true,
    mergesToSameBytes: true,
  });
}

const id = Buffer.from('an id that is added time and again');
const other = Buffer.from('another');

function make(options: Partial<Parameters<typeof CountingBloomFilter.forCapacity>[0]> = {}): CountingBloomFilter {
  return CountingBloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.001, ...options });
}

function addTimes(filter: CountingBloomFilter, added: Uint8Array, times: number): void {
  for (let time = 0; time < times; time++) filter.add(added);
}

/** How many of the deletes said that the id was in. */
function deleteTimes(filter: CountingBloomFilter, deleted: Uint8Array, times: number): number {
  let count = 0;
  for (let time = 0; time < times; time++) if (filter.delete(deleted)) count++;
  return count;
}

describe.each(kinds)('counters of $counterBits bits, partitioned: $isPartitioned', (kind) => {
  const countMax = 2 ** kind.counterBits - 1;

  test('count up to one below the maximum, and back to nothing', () => {
    const filter = make(kind);
    const empty = filter.save();
    addTimes(filter, id, countMax - 1);
    expect([filter.saturatedCount, filter.elements]).toEqual([0, countMax - 1]);
    expect(deleteTimes(filter, id, countMax - 1)).toBe(countMax - 1);
    expect(filter.has(id)).toBe(false);
    expect(filter.delete(id)).toBe(false);
    expect(Buffer.compare(filter.save(), empty)).toBe(0);
  });

  test('stick at the maximum, whatever is deleted, so that nothing is ever missed', () => {
    const filter = make(kind);
    addTimes(filter, id, countMax + 3);
    expect(filter.saturatedCount).toBe(filter.shape.hashes);
    expect(deleteTimes(filter, id, countMax + 3)).toBe(countMax + 3);
    expect([filter.has(id), filter.elements, filter.saturatedCount]).toEqual([true, 0, filter.shape.hashes]);
    expect(filter.delete(id)).toBe(false);
    const loaded = CountingBloomFilter.load(filter.save());
    expect([loaded.has(id), loaded.saturatedCount]).toEqual([true, filter.shape.hashes]);
  });

  test('saturate in a merge as well, and stick', () => {
    const [one, two] = [make(kind), make(kind)];
    addTimes(one, id, countMax - 1);
    addTimes(two, id, 2);
    addTimes(two, other, 1);
    one.merge(two);
    expect([one.saturatedCount, one.elements]).toEqual([one.shape.hashes, countMax + 2]);
    expect([one.delete(other), one.has(other), one.delete(id), one.has(id)]).toEqual([true, false, true, true]);
  });

  test('count how often an id is in, and say when they no longer know', () => {
    const filter = make(kind);
    expect(filter.count(id)).toBe(0);
    addTimes(filter, id, countMax - 1);
    filter.add(other);
    expect([filter.count(id), filter.count(other)]).toEqual([countMax - 1, 1]);
    filter.delete(id);
    expect(filter.count(id)).toBe(countMax - 2);
    addTimes(filter, id, 2);
    expect([filter.count(id), filter.count(other)]).toEqual([Infinity, 1]);
  });

  test('do not touch their neighbours', () => {
    const filter = make(kind);
    const random = createPrng(3);
    const ids = Array.from({ length: 100 }, () => random.bytes(20));
    for (const added of ids) filter.add(added);
    const before = filter.save();
    addTimes(filter, id, countMax - 9);
    expect(deleteTimes(filter, id, countMax - 9)).toBe(countMax - 9);
    expect(Buffer.compare(filter.save(), before)).toBe(0);
  });
});

describe('a counting Bloom filter', () => {
  test('has counters in a prime number; partitioned, in consecutive primes', () => {
    expect(isPrime(make().positions)).toBe(true);
    const { shape, positions } = make({ isPartitioned: true });
    const sizes = partitionSizes(shape.firstSize, shape.hashes);
    expect(positions).toBe(sizes.reduce((sum, size) => sum + size, 0));
    for (const [index, size] of sizes.entries()) {
      expect(isPrime(size)).toBe(true);
      for (let between = size + 1; between < (sizes[index + 1] ?? 0); between++) expect(isPrime(between)).toBe(false);
    }
  });

  test('counts an id once in each partition', () => {
    const { shape } = make({ isPartitioned: true });
    const sizes = partitionSizes(shape.firstSize, shape.hashes);
    const random = createPrng(4);
    for (let round = 0; round < 20; round++) {
      const filter = make({ isPartitioned: true, counterBits: 16 });
      filter.add(random.bytes(20));
      const taken = takenPositions(filter);
      let begin = 0;
      for (const size of sizes) {
        expect(taken.filter((position) => position >= begin && position < begin + size)).toHaveLength(1);
        begin += size;
      }
    }
  });

  test('estimates how many different ids are in', () => {
    const filter = make({ capacity: 10_000 });
    const random = createPrng(5);
    for (let count = 0; count < 10_000; count++) filter.add(random.bytes(20));
    expect(filter.estimatedElements()).toBeGreaterThan(9_900);
    expect(filter.estimatedElements()).toBeLessThan(10_100);
    expect(filter.fillRatio).toBeCloseTo(0.5, 1);
  });

  test.each([3, 4, 5])('has the %i hashes that are asked for, and keeps its rate', (hashes) => {
    const filter = make({ capacity: 2000, falsePositiveRate: 0.02, hashes });
    const random = createPrng(6);
    for (let count = 0; count < 2000; count++) filter.add(random.bytes(20));
    expect(filter.shape.hashes).toBe(hashes);
    expect(filter.falsePositiveRate()).toBeLessThan(0.0225);
    expect(filter.falsePositiveRate()).toBeGreaterThan(0.0175);
    const counts = Array.from({ length: 100_000 }, () => filter.count(random.bytes(20)));
    const positives = counts.filter((count) => count > 0).length;
    // Within five standard deviations of the prediction.
    expect(Math.abs(positives - 100_000 * filter.falsePositiveRate())).toBeLessThan(5 * Math.sqrt(2000));
  });

  test('gives other positions for another seed', () => {
    const [one, two] = [make({ seed: 1 }), make({ seed: 2 })];
    one.add(id);
    two.add(id);
    expect(takenPositions(one)).not.toEqual(takenPositions(two));
    expect(() => one.merge(two)).toThrow(UsageError);
    expect(CountingBloomFilter.load(one.save()).shape.seed).toBe(1);
  });

  test.each([
    { capacity: 0 },
    { falsePositiveRate: 1 },
    { falsePositiveRate: 1e-30 },
    { capacity: 2 ** 39 },
    { capacity: 2 ** 39, isPartitioned: true },
    { counterBits: 5 as 4 },
    { seed: -1 },
    { seed: 0.5 },
    { hashes: 0 },
    { hashes: 1.5 },
    { hashes: 65 },
  ])('with %o is refused', (options) => {
    expect(() => make(options)).toThrow(UsageError);
  });

  test('with more or fewer counters saved than its shape has is refused', () => {
    const { numbers, arrays } = decodeSaved('counting-bloom', make().save());
    const counters = Buffer.from(arrays[0]!);
    for (const saved of [counters.subarray(4), counters.subarray(1), Buffer.concat([counters, Buffer.alloc(4)])]) {
      expect(() => CountingBloomFilter.load(encodeSaved('counting-bloom', numbers, [saved]))).toThrow(
        /bytes of counters/,
      );
    }
    for (const parts of [[], [counters, counters]]) {
      expect(() => CountingBloomFilter.load(encodeSaved('counting-bloom', numbers, parts))).toThrow(CorruptDataError);
    }
  });

  test('whose saved counters do not add up, or spill over, is refused', () => {
    const filter = make();
    filter.add(id);
    const { numbers, arrays } = decodeSaved('counting-bloom', filter.save());
    const counters = arrays[0]!;
    const at = counters.indexOf(0);
    counters[at] = 1;
    expect(() => CountingBloomFilter.load(encodeSaved('counting-bloom', numbers, [counters]))).toThrow(/add up/);
    counters[at] = 0;
    counters[counters.length - 1]! |= 0x10;
    expect(filter.positions % 8).not.toBe(0);
    expect(() => CountingBloomFilter.load(encodeSaved('counting-bloom', numbers, [counters]))).toThrow(
      CorruptDataError,
    );
  });
});

/** Which counters are above 0, from the saved form. */
function takenPositions(filter: CountingBloomFilter): number[] {
  const bytes = Buffer.from(decodeSaved('counting-bloom', filter.save()).arrays[0]!);
  const { counterBits } = filter.shape;
  return Array.from({ length: filter.positions }, (_, position) => position).filter((position) => {
    const bit = position * counterBits;
    return counterBits === 16 ? bytes.readUInt16LE(bit / 8) > 0 : ((bytes[bit >>> 3]! >>> (bit & 7)) & 15) > 0;
  });
}
