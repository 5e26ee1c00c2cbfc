import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FilterFullError, UsageError } from '../../../src/core/errors.ts';
import { pathsFrom } from '../../../src/filters/family/range-box.ts';
import type { RangeBox, RangeEntry } from '../../../src/filters/family/range-box.ts';
import { RangeTree } from '../../../src/filters/family/range-tree.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('tree with filters', {
  make: ({ falsePositiveRate }) => RangeTree.withRate({ falsePositiveRate }),
  load: (bytes) => RangeTree.load(bytes),
  static: true,
  countsTwice: true,
});

const SEED = 23;
const FPR = 0.01;

function filesOf(count: number, seed = SEED, chunksMax = 4): RangeEntry[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => ({
    timeMs: random.int(1e6),
    path: Buffer.from(`/${random.int(40)}/${random.int(1e6)}`),
    sizeBytes: random.int(1e6),
    chunkIds: Array.from({ length: random.int(chunksMax + 1) }, () => random.bytes(20)),
  }));
}

function isIn(box: RangeBox, { timeMs, path, sizeBytes }: RangeEntry): boolean {
  const inside = ([low, high]: readonly [number, number] = [-Infinity, Infinity], value: number): boolean =>
    value >= low && value <= high;
  const [first, last] = box.path ?? [Buffer.alloc(0), Buffer.alloc(100, 0xff)];
  return (
    inside(box.timeMs, timeMs) &&
    inside(box.sizeBytes, sizeBytes) &&
    Buffer.compare(path, first) >= 0 &&
    Buffer.compare(path, last) <= 0
  );
}

describe(`boxes (seed ${SEED})`, () => {
  const range = fc.tuple(fc.nat(1e6), fc.nat(1e6)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const path = fc.tuple(fc.nat(41), fc.nat(41)).map(([a, b]) => {
    const ends = [Buffer.from(`/${a}/`), Buffer.from(`/${b}/5`)].toSorted((x, y) => x.compare(y));
    return [ends[0]!, ends[1]!] as const;
  });
  const boxes = fc.record({ timeMs: range, path, sizeBytes: range }, { requiredKeys: [] });

  testProperty('miss no file, and no chunk of one', (check) => {
    const shape = fc.record({ count: fc.nat(600), leaves: fc.integer({ min: 1, max: 100 }), chunks: fc.nat(300) });
    check(
      fc.property(shape, fc.nat(), fc.array(boxes, { minLength: 5 }), ({ count, leaves, chunks }, seed, asked) => {
        const files = filesOf(count, seed, chunks % 7 === 0 ? chunks : 3);
        const tree = RangeTree.build(files, { falsePositiveRate: FPR, leaves });
        const loaded = RangeTree.load(tree.save());
        expect(tree.elements).toBe(files.reduce((sum, file) => sum + [...file.chunkIds].length, 0));
        for (const box of asked) {
          const inside = files.filter((each) => isIn(box, each));
          if (inside.length > 0) expect(loaded.mayHold(box)).toBe(true);
          const missed = inside.flatMap((file) => [...file.chunkIds]).filter((id) => !loaded.mayHold(box, id));
          expect(missed).toEqual([]);
          expect(loaded.leavesIn(box)).toBe(tree.leavesIn(box));
          const span = loaded.spanIn(box);
          expect(span?.leaves ?? 0).toBe(tree.leavesIn(box));
          expect(inside.filter((each) => span === undefined || !isIn(span, each))).toEqual([]);
        }
      }),
      { numRuns: inSoak(40, 12) },
    );
  });

  it('beside all files are empty, and the leaves of small ones are few', () => {
    const tree = RangeTree.build(filesOf(20_000), { falsePositiveRate: FPR });
    expect(tree.leafCount).toBe(64);
    expect(tree.leavesIn({})).toBe(64);
    for (const box of [
      { timeMs: [1e6, 2e6] },
      { sizeBytes: [-5, -1] },
      { path: pathsFrom(Buffer.from('/x')) },
      { timeMs: [5, 4] },
    ] satisfies RangeBox[]) {
      expect(tree.mayHold(box), JSON.stringify(box)).toBe(false);
      expect(tree.falsePositiveRateIn(box)).toBe(0);
    }
    expect(tree.leavesIn({ timeMs: [0, 10], sizeBytes: [0, 10] })).toBeLessThan(8);
  });

  it('overlap as many leaves as the formula says, for files that are spread evenly', () => {
    const tree = RangeTree.build(filesOf(20_000), { falsePositiveRate: FPR });
    const random = createPrng(SEED);
    const questions = inSoak(3000, 1000);
    for (const side of [0.02, 0.1, 0.3]) {
      let leaves = 0;
      for (let question = 0; question < questions; question++) {
        const [time, size] = [random.int((1 + side) * 1e6) - side * 1e6, random.int((1 + side) * 1e6) - side * 1e6];
        leaves += tree.leavesIn({ timeMs: [time, time + side * 1e6], sizeBytes: [size, size + side * 1e6] });
      }
      // 4 slabs in each dimension, and all of them in the one without a range.
      const byFormula = 4 * ((1 + 4 * side) / (1 + side)) ** 2;
      expect(Math.abs(leaves / questions / byFormula - 1), `side ${side}`).toBeLessThan(0.04);
    }
  });

  it('have the rate of the leaves that they overlap', () => {
    const tree = RangeTree.build(filesOf(20_000), { falsePositiveRate: 0.2 });
    const random = createPrng(SEED + 1);
    const box: RangeBox = { timeMs: [0, 3e5], sizeBytes: [0, 6e5] };
    const predicted = tree.falsePositiveRateIn(box);
    expect(predicted).toBeLessThan(tree.falsePositiveRate());
    const probes = 50_000;
    let hits = 0;
    for (let probe = 0; probe < probes; probe++) if (tree.mayHold(box, random.bytes(20))) hits++;
    expect(Math.abs(hits / probes - predicted)).toBeLessThan(5 * Math.sqrt((predicted * (1 - predicted)) / probes));
  });
});

describe('what goes in', () => {
  it('may be an empty file, and one whose chunks fill many leaves', () => {
    const random = createPrng(SEED);
    const file = (timeMs: number, count: number): RangeEntry => ({
      timeMs,
      path: Buffer.from('/a'),
      sizeBytes: count,
      chunkIds: Array.from({ length: count }, () => random.bytes(20)),
    });
    const files = [file(-5, 0), file(10, 5000), file(20, 1)];
    const tree = RangeTree.build(files, { falsePositiveRate: FPR });
    expect(tree.leafCount).toBeGreaterThan(30);
    for (const { timeMs, chunkIds } of files) {
      expect(tree.mayHold({ timeMs: [timeMs, timeMs] })).toBe(true);
      for (const id of chunkIds) expect(tree.mayHold({ timeMs: [timeMs, timeMs] }, id)).toBe(true);
    }
    expect(tree.mayHold({ timeMs: [11, 19] })).toBe(true);
    expect(tree.mayHold({ timeMs: [-4, 9] })).toBe(true);
    expect(tree.mayHold({ timeMs: [21, 22] })).toBe(false);
  });

  it('is refused without a place, and after the first query', () => {
    const tree = RangeTree.withRate({ falsePositiveRate: FPR });
    const place = { timeMs: NaN, path: Buffer.from('/a'), sizeBytes: 1 };
    expect(() => tree.addPlace(place)).toThrow(UsageError);
    expect(() => tree.add(Buffer.alloc(20), { ...place, timeMs: 1, sizeBytes: Infinity })).toThrow(UsageError);
    expect([tree.elements, tree.leafCount]).toEqual([0, 0]);
    expect(() => tree.add(Buffer.alloc(20))).toThrow(FilterFullError);
    expect(() => tree.addPlace({ ...place, timeMs: 1 })).toThrow(FilterFullError);
    expect('delete' in tree).toBe(false);
  });

  it.each([
    { falsePositiveRate: 0 },
    { falsePositiveRate: 1e-12 },
    { falsePositiveRate: 0.1, leaves: 0 },
    { falsePositiveRate: 0.1, leaves: 1e9 },
  ])('is refused with %o', (options) => {
    expect(() => RangeTree.withRate(options)).toThrow(UsageError);
  });
});

testProperty('the paths from a prefix on are those that begin with it', (check) => {
  const bytes = fc.array(fc.constantFrom(0, 0x61, 0xfe, 0xff), { maxLength: 5 }).map((each) => Buffer.from(each));
  check(
    fc.property(bytes, bytes, (prefix, path) => {
      const [first, last] = pathsFrom(prefix);
      const isInside = Buffer.compare(path, first) >= 0 && Buffer.compare(path, last) <= 0;
      const begins = path.subarray(0, prefix.length).equals(prefix);
      expect(isInside).toBe(begins || path.equals(last));
    }),
  );
});
