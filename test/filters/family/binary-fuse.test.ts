import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptDataError, FilterFullError, UsageError } from '../../../src/core/errors.ts';
import { fillRandomIds } from '../../../src/core/ldm/random-ids.ts';
import { BinaryFuseFilter } from '../../../src/filters/family/binary-fuse.ts';
import { takeUniformId } from '../../../src/filters/family/id-hash.ts';
import { decodeSaved, encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('binary fuse filter', {
  make: ({ falsePositiveRate }) => BinaryFuseFilter.withRate({ falsePositiveRate }),
  load: (bytes) => BinaryFuseFilter.load(bytes),
  static: true,
});

const SEED = 37;
const widths = [8, 16] as const;
/** Numbers of ids with the slots per id that the formula gives. */
const sizes: readonly (readonly [number, number])[] = [
  [10_000, 1.28],
  [20_000, 1.2288],
  ...inSoak([[1_000_000, 1.130_496]] as const, []),
];

function idsOf(count: number, seed = SEED): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

function fuseOf(ids: readonly Uint8Array[], fingerprintBits: 8 | 16): BinaryFuseFilter {
  const filter = BinaryFuseFilter.withRate({ falsePositiveRate: 0.01, fingerprintBits });
  for (const id of ids) filter.add(id);
  return filter;
}

interface Reference {
  readonly keys: number;
  readonly absent: number;
  readonly fingerprintBits: 8 | 16;
  readonly seed: string;
  readonly segmentLength: number;
  readonly segmentCount: number;
  readonly fingerprints: string;
  readonly positives: readonly number[];
}

const references = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../fixtures/fuse/reference.json'), 'utf8'),
) as Reference[];

describe.each(references)(
  'the array that the implementation of the authors built of $keys keys with $fingerprintBits bits',
  ({ keys, absent, fingerprintBits, seed, segmentLength, segmentCount, fingerprints, positives }) => {
    const [seedHigh, seedLow] = [seed.slice(0, 8), seed.slice(8)].map((half) => Number.parseInt(half, 16));
    // The two segments after the last first one are not counted there.
    const numbers = [keys, seedLow!, seedHigh!, segmentLength, segmentCount + 2];
    const saved = encodeSaved(`binary-fuse-${fingerprintBits}`, numbers, [Buffer.from(fingerprints, 'hex')]);
    const filter = BinaryFuseFilter.load(saved);
    const has = (prefix: string, index: number): boolean => filter.has(Buffer.from(`${prefix}-${index}`));

    it('gives the same answers here, for every key and for absent ones', () => {
      expect(Array.from({ length: keys }, (_, index) => has('id', index))).not.toContain(false);
      const found = Array.from({ length: absent }, (_, index) => index).filter((index) => has('absent', index));
      expect(found).toEqual(positives);
    });
  },
);

describe.each(widths)(`%d bits (seed ${SEED})`, (bits) => {
  testProperty('never lose an id, whatever their number, however often each is added', (check) => {
    check(
      fc.property(fc.integer({ min: 0, max: 1500 }), fc.integer({ min: 1, max: 3 }), fc.nat(), (count, times, seed) => {
        const ids = idsOf(count, seed);
        const filter = fuseOf(Array.from({ length: times }, () => ids).flat(), bits);
        expect(filter.elements).toBe(count);
        for (const each of [filter, BinaryFuseFilter.load(filter.save())]) {
          expect(ids.filter((id) => !each.has(id))).toEqual([]);
        }
        expect(filter.elements).toBe(count);
      }),
      { numRuns: inSoak(300, 40) },
    );
  });

  it('are built again with another seed when the slots of some ids cannot be separated', () => {
    const seeds = new Set<unknown>();
    for (let count = 2; count < 120; count++) {
      const filter = fuseOf(idsOf(count, count), bits);
      const ids = idsOf(count, count);
      expect(ids.every((id) => filter.has(id))).toBe(true);
      seeds.add(decodeSaved(filter.name, filter.save()).numbers.slice(1, 3).join());
    }
    expect(seeds.size).toBeGreaterThan(1);
  });

  it.each(sizes)('take the slots of the formula for %d ids', (count, slotsPerId) => {
    const filter = BinaryFuseFilter.withRate({
      falsePositiveRate: 0.01,
      fingerprintBits: bits,
      idHash: takeUniformId,
    });
    for (const id of idsOf(count)) filter.add(id);
    expect((filter.memoryBytes * 8) / count).toBeCloseTo(slotsPerId * bits, 6);
  });

  it('are wrong for one absent id in 2^bits', () => {
    const filter = fuseOf(idsOf(3000), bits);
    expect(filter.falsePositiveRate()).toBe(2 ** -bits);
    const probes = bits === 8 ? 40_000 : 300_000;
    const expected = probes * 2 ** -bits;
    const random = createPrng(SEED + 1);
    const id = Buffer.alloc(20);
    let hits = 0;
    for (let probe = 0; probe < probes; probe++) {
      fillRandomIds(id, () => random.next());
      if (filter.has(id)) hits++;
    }
    expect(Math.abs(hits - expected)).toBeLessThanOrEqual(5 * Math.sqrt(expected));
  });
});

it('has the width that a rate needs, and refuses rates that it cannot reach', () => {
  const bitsFor = (falsePositiveRate: number): number =>
    BinaryFuseFilter.withRate({ falsePositiveRate }).fingerprintBits;
  expect([0.5, 0.01, 2 ** -8, 0.0039, 0.001, 2 ** -16].map(bitsFor)).toEqual([8, 8, 8, 16, 16, 16]);
  for (const falsePositiveRate of [0, 1, NaN, 1e-5]) {
    expect(() => BinaryFuseFilter.withRate({ falsePositiveRate })).toThrow(UsageError);
  }
  expect(() => BinaryFuseFilter.withRate({ falsePositiveRate: 0.001, fingerprintBits: 8 })).toThrow(UsageError);
});

it('is built by the first query, and then refuses ids with a typed error', () => {
  const queries: ((filter: BinaryFuseFilter) => unknown)[] = [
    (filter) => filter.has(idsOf(1)[0]!),
    (filter) => filter.memoryBytes,
    (filter) => filter.save(),
  ];
  for (const query of queries) {
    const filter = fuseOf(idsOf(10), 8);
    expect([filter.elements, filter.falsePositiveRate()]).toEqual([10, 2 ** -8]);
    filter.add(idsOf(11)[10]!);
    query(filter);
    expect(() => filter.add(idsOf(12)[11]!)).toThrow(FilterFullError);
    expect(filter.elements).toBe(11);
    expect('delete' in filter).toBe(false);
  }
});

it('does not read an array of one width as one of the other', () => {
  const saved = decodeSaved('binary-fuse-16', fuseOf(idsOf(100), 16).save());
  expect(() => BinaryFuseFilter.load(encodeSaved('binary-fuse-8', saved.numbers, saved.arrays))).toThrow(
    CorruptDataError,
  );
});
