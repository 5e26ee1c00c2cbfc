import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { LdmSet } from '../../../src/filters/family/ldm-set.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';

describeMembership('LDM filter as a set', {
  make: (options) => LdmSet.forCapacity(options),
  load: (bytes) => LdmSet.load(bytes),
  exact: true,
  erasable: true,
  countsTwice: true,
});

function idsOf(count: number, seed = 6): Buffer[] {
  const random = createPrng(seed);
  return Array.from({ length: count }, () => random.bytes(20));
}

function filled(capacity: number, count: number): { set: LdmSet; ids: Buffer[] } {
  const set = LdmSet.forCapacity({ capacity, falsePositiveRate: 0.01 });
  const ids = idsOf(count);
  for (const [index, id] of ids.entries()) for (let left = 1 + (index % 3); left > 0; left--) set.add(id);
  return { set, ids };
}

describe('references', () => {
  it('are counted: an id goes with its last one', () => {
    const { set, ids } = filled(100, 100);
    expect([set.elements, set.distinctIds]).toEqual([199, 100]);
    expect(set.references(ids[2]!)).toBe(3);
    for (const left of [2, 1, 0]) {
      expect(set.delete(ids[2]!)).toBe(true);
      expect([set.references(ids[2]!), set.has(ids[2]!)]).toEqual([left, left > 0]);
    }
    expect(set.delete(ids[2]!)).toBe(false);
    expect([set.elements, set.distinctIds]).toEqual([196, 99]);
  });

  it('are added up by merging, also with itself', () => {
    const { set } = filled(50, 100);
    const { set: other, ids } = filled(1000, 150);
    set.merge(other);
    expect(set.references(ids[2]!)).toBe(6);
    expect(set.references(ids[149]!)).toBe(other.references(ids[149]!));
    set.merge(set);
    expect(set.references(ids[2]!)).toBe(12);
    expect(set.distinctIds).toBe(150);
  });
});

describe('growth', () => {
  it('keeps the rate of the counters below its target, and all ids', () => {
    const { set, ids } = filled(64, 5000);
    expect(set.plan.capacity).toBeGreaterThanOrEqual(5000);
    const absent = idsOf(50_000, 7);
    const rate = absent.filter((id) => set.mayHave(id)).length / absent.length;
    expect(rate).toBeLessThan(0.012);
    expect(ids.every((id) => set.has(id))).toBe(true);
    const loaded = LdmSet.load(set.save());
    expect(loaded.chains()).toEqual(set.chains());
    expect(loaded.plan).toEqual(set.plan);
    for (const id of ids) while (loaded.delete(id));
    expect([loaded.elements, loaded.longestChain()]).toEqual([0, 0]);
  });
});

describe('a saved one with a right checksum', () => {
  const { set, ids } = filled(40, 40);
  const saved = Buffer.from(set.save());

  function forge(change: (bytes: Buffer) => void): () => LdmSet {
    const bytes = Buffer.from(saved);
    change(bytes);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
    return () => LdmSet.load(bytes);
  }
  const entriesAt = saved.length - 4 - 40 * 24;

  it('is read when nothing was changed', () => {
    expect(forge(() => {})().references(ids[1]!)).toBe(2);
  });

  it.each<[string, (bytes: Buffer) => void]>([
    ['a counter is lower', (bytes) => bytes.fill(0, entriesAt - 60, entriesAt - 40)],
    ['a counter is higher', (bytes) => bytes.writeUInt8(bytes.readUInt8(entriesAt - 40) + 1, entriesAt - 40)],
    ['an id is another', (bytes) => bytes.writeUInt8(bytes.readUInt8(entriesAt + 51) ^ 0x80, entriesAt + 51)],
    ['an id is twice in', (bytes) => bytes.copy(bytes, entriesAt + 24, entriesAt, entriesAt + 24)],
    [
      'two ids have changed places',
      (bytes) =>
        Buffer.concat([bytes.subarray(entriesAt + 24, entriesAt + 48), bytes.subarray(entriesAt, entriesAt + 24)]).copy(
          bytes,
          entriesAt,
        ),
    ],
    ['an id has no reference', (bytes) => bytes.writeUInt32LE(0, entriesAt + 20)],
  ])('is refused where %s', (_what, change) => {
    expect(forge(change)).toThrow(CorruptDataError);
  });
});
