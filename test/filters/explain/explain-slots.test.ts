import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { BinaryFuseFilter } from '../../../src/filters/family/binary-fuse.ts';
import { CuckooFilter } from '../../../src/filters/family/cuckoo-filter.ts';
import { DynamicBloomArray } from '../../../src/filters/family/dynamic-bloom-array.ts';
import { ExpandableFilter } from '../../../src/filters/family/expandable-filter.ts';
import type { IdHash } from '../../../src/filters/family/id-hash.ts';
import { IndexedFilter } from '../../../src/filters/family/indexed-filter.ts';
import type { MembershipFilter } from '../../../src/filters/family/membership-filter.ts';
import { SplitBlockBloomFilter } from '../../../src/filters/family/split-block-bloom.ts';
import type { SlotTrace } from '../../../src/filters/family/trace.ts';
import { drawSlots } from '../../../src/filters/explain/draw-trace.ts';
import { testProperty } from '../../support/property.ts';

const options = { capacity: 20, falsePositiveRate: 0.2 };

type Traced = MembershipFilter & { trace(id: Uint8Array): SlotTrace };
const makers: readonly (readonly [string, () => Traced])[] = [
  ['cuckoo', () => CuckooFilter.forCapacity(options)],
  ['expandable', () => ExpandableFilter.forCapacity({ ...options, capacity: 5 })],
  ['binary fuse', () => BinaryFuseFilter.withRate(options)],
  ['index-carrying', () => IndexedFilter.withRate(options)],
  ['dynamic array', () => DynamicBloomArray.forCapacity({ ...options, filterCapacity: 2, groupFilters: 4 })],
];

describe.each(makers)('the trace of a filter (%s)', (_name, make) => {
  testProperty('has a match exactly if the answer is not no', (check) => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 24 });
    const keys = fc.uniqueArray(key, { maxLength: 20, selector: (bytes) => bytes.join() });
    check(
      fc.property(keys, fc.array(key, { minLength: 5, maxLength: 20 }), (added, others) => {
        const filter = make();
        for (const id of added) filter.add(id);
        for (const id of [...added, ...others]) {
          const { isFound, slots } = filter.trace(id);
          expect(isFound).toBe(filter.has(id));
          expect(slots.some(({ isMatch }) => isMatch === true)).toBe(isFound);
        }
      }),
      { numRuns: 40 },
    );
  });
});

/** The words of the hash of an id are its bytes, each as the upper 8 bits, except for the first as a whole number. */
const byBytes: IdHash = (id, _seed, words) => {
  words[0] = id[0]!;
  for (let index = 1; index < words.length; index += 1) words[index] = (id[index] ?? 0) * 2 ** 24;
};

describe('by hand', () => {
  it('a cuckoo filter: the fingerprint is 1 + 128/256 of 255, and the first bucket is the lowest 3 bits', () => {
    const filter = CuckooFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.05, idHash: byBytes });
    for (const id of [
      [5, 0, 128, 0],
      [13, 0, 0, 0],
    ])
      filter.add(Uint8Array.from(id));
    const { hashes, slots } = filter.trace(Uint8Array.of(21, 9, 128));
    expect(hashes.slice(1, 3)).toEqual([
      ['fingerprint', '0x80, of 8 bits'],
      ['bucket 1', '5 of 8, by the lowest bits of the hash'],
    ]);
    expect(slots.slice(0, 3)).toEqual([
      { label: 'bucket 1', place: 20, value: 0x80, isMatch: true },
      { label: 'bucket 1', place: 21, value: 1, isMatch: false },
      { label: 'bucket 1', place: 22, value: undefined, isMatch: false },
    ]);
    expect(slots[4]).toMatchObject({ label: 'bucket 2', place: (5 ^ distanceOf(0x80, 8)) * 4 });
  });

  it('an expandable filter: 3 bits, of which a doubling makes the first a part of the number of the home', () => {
    // 8 slots at first: the upper bits of the first word. The next word has the fingerprint.
    const idHash: IdHash = (id, _seed, words) => {
      words.set([id[0]! * 2 ** 29, id[1]! * 2 ** 24, 0, 0]);
    };
    const filter = ExpandableFilter.forCapacity({ capacity: 6, falsePositiveRate: 0.13, idHash });
    filter.add(Uint8Array.of(3, 0b1010_0000));
    const before = filter.trace(Uint8Array.of(3, 0b1011_1111));
    expect(before.hashes).toEqual([
      ['home', '3 of 8 slots, by the first bits of the hash'],
      ['fingerprint', '101, the 3 bits after these'],
    ]);
    expect(before.slots).toEqual([{ label: 'slot of the run', place: 3, value: 0b1101, isMatch: true }]);
    for (let home = 0; home < 6; home += 1) filter.add(Uint8Array.of(home === 3 ? 7 : home, 0));
    expect(filter.doublings).toBe(1);
    const after = filter.trace(Uint8Array.of(3, 0b1010_0111));
    expect(after.hashes).toEqual([
      ['home', '7 of 16 slots, by the first bits of the hash'],
      ['fingerprint', '01001, the 5 bits after these'],
    ]);
    expect(after.slots).toEqual([{ label: 'slot of the run', place: 7, value: 0b101, isMatch: true }]);
    expect(drawSlots(after).split('\n').at(-1)).toBe('  slot of the run  7  01  <- match');
  });

  it('a dynamic array: a cell has a bit of each filter, which is set if that is a position of its id', () => {
    const filter = DynamicBloomArray.forCapacity({
      capacity: 8,
      falsePositiveRate: 1e-4,
      filterCapacity: 1,
      groupFilters: 4,
    });
    const words = ['apple', 'pear', 'plum'].map((word) => Buffer.from(word));
    for (const word of words) filter.add(word);
    const cellsOf = (word: Uint8Array): SlotTrace['slots'] =>
      filter.trace(word).slots.filter(({ place }) => place !== undefined);
    const positions = words.map((word) => new Set(cellsOf(word).map(({ place }) => place)));
    for (const { place, value } of words.flatMap(cellsOf))
      expect(value).toBe(positions.reduce((cell, ofWord, index) => cell | (Number(ofWord.has(place)) << index), 0));
    const { slots, format, hashes } = filter.trace(words[1]!);
    expect(slots.at(-1)).toEqual({ label: 'group 1, and', value: 0b10, isMatch: true });
    expect(format(0b10)).toBe('0010');
    expect(hashes[0]![1]).toMatch(/^start \d+, stride \d+, modulo \d+$/);
  });

  it('a binary fuse filter: the three slots are in segments 1, 2 and 3, and their exclusive or is the fingerprint', () => {
    const filter = BinaryFuseFilter.withRate({ falsePositiveRate: 0.01 });
    const key = Buffer.from('pear');
    for (const word of ['apple', 'pear', 'plum', 'fig', 'quince']) filter.add(Buffer.from(word));
    const { hashes, slots } = filter.trace(key);
    const [first, second, third, together] = slots.map(({ value }) => value!);
    expect(first! ^ second! ^ third!).toBe(together);
    expect(slots.slice(0, 3).map(({ place }) => Math.floor(place! / 8))).toEqual([0, 1, 2]);
    expect(hashes[1]).toEqual(['fingerprint', `0x${together!.toString(16)}, of 8 bits`]);
    const [low, high] = [
      BigInt.asUintN(32, BigInt(hashes[0]![1].slice(0, 18))),
      BigInt(hashes[0]![1].slice(0, 18)) >> 32n,
    ];
    expect(Number((low ^ high) & 0xffn)).toBe(together);
    expect(BinaryFuseFilter.withRate({ falsePositiveRate: 0.01 }).trace(key)).toMatchObject({ isFound: false });
  });

  it('an index-carrying filter: each key has its own slot, with its fingerprint', () => {
    const filter = IndexedFilter.withRate({ falsePositiveRate: 0.05, locationBits: 0 });
    const words = ['apple', 'pear', 'plum', 'fig', 'quince'].map((word) => Buffer.from(word));
    for (const word of words) filter.add(word);
    const places = words.map((word) => filter.trace(word).slots.at(-1)!.place!);
    expect(places.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4]);
    for (const word of words) {
      const { hashes, slots } = filter.trace(word);
      expect(hashes[0]).toEqual(['fingerprint', `0x${slots[3]!.value!.toString(16)}, of 5 bits`]);
      const selected = slots.slice(0, 3).reduce((sum, { value }) => sum + value!, 0) % 3;
      expect(hashes[1]![1]).toContain(`selects vertex ${selected + 1}`);
    }
    // A vertex of the value 3 has no slot.
    for (let index = 0; index < 50; index += 1) {
      const { slots } = filter.trace(Buffer.from(`other ${index}`));
      const values = slots.slice(0, 3).map(({ value }) => value!);
      expect(slots.length).toBe(values[values.reduce((sum, value) => sum + value, 0) % 3] === 3 ? 3 : 4);
    }
  });

  it('a split-block filter: one bit in each word, (hash x 0x47b6137b) >> 27 in the first', () => {
    const idHash: IdHash = (_id, _seed, words) => {
      words.set([0x1234_5678, 0xc000_0000]);
    };
    const filter = SplitBlockBloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01, idHash });
    filter.add(Uint8Array.of(1));
    const { positions, arrays, hashes } = filter.trace(Uint8Array.of(1));
    const first = Number(((0x1234_5678n * 0x47b6_137bn) & 0xffff_ffffn) >> 27n);
    expect(positions[0]).toBe(first);
    expect(positions.map((position) => Math.floor(position / 32))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(positions.every((position) => arrays[0]!.valueAt(position) === 1)).toBe(true);
    expect(hashes[1]![1]).toBe(`${Math.floor(filter.blocks * 0.75)} of ${filter.blocks}, by the upper half`);
  });
});

/** The finalizer of MurmurHash3 in whole numbers. */
function distanceOf(fingerprint: number, buckets: number): number {
  const words = 0xffff_ffffn;
  let mixed = BigInt(fingerprint);
  mixed = ((mixed ^ (mixed >> 16n)) * 0x85eb_ca6bn) & words;
  mixed = ((mixed ^ (mixed >> 13n)) * 0xc2b2_ae35n) & words;
  const distance = Number((mixed ^ (mixed >> 16n)) % BigInt(buckets));
  return distance === 0 ? 1 : distance;
}
