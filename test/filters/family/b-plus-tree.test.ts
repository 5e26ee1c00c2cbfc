import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CorruptDataError, UsageError } from '../../../src/core/errors.ts';
import { BPlusTreeFilter } from '../../../src/filters/family/b-plus-tree.ts';
import { encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { withTemporaryDirectory } from '../../support/temp-directory.ts';

const directory = mkdtempSync(join(tmpdir(), 'ldm-test-trees-'));
/** The suite compares two at a time; older ones are done with. */
const OPEN_MAX = 4;
const open: BPlusTreeFilter[] = [];
const closed: Promise<void>[] = [];

function track(filter: BPlusTreeFilter): BPlusTreeFilter {
  open.push(filter);
  if (open.length > OPEN_MAX) closed.push(open.shift()!.close());
  return filter;
}

afterAll(async () => {
  await Promise.all([...closed, ...open.map((filter) => filter.close())]);
  const left = readdirSync(directory);
  rmSync(directory, { recursive: true });
  expect(left, 'directories of closed trees').toEqual([]);
});

// Every change is written at once. What is loaded is on disk only from 40 ids on, or thousands of forged lists would be.
describeMembership('B+ tree', {
  make: () => track(BPlusTreeFilter.forCapacity({ directory, batchChanges: 1 })),
  load: (bytes) => track(BPlusTreeFilter.load(bytes, { directory, batchChanges: 40 })),
  exact: true,
  erasable: true,
  sizeDependsOnOrder: true,
  idBytes: 20,
});

function idsOf(count: number): Buffer[] {
  const random = createPrng(10);
  return Array.from({ length: count }, () => random.bytes(20));
}

describe('B+ tree', () => {
  it('writes in batches, and answers the same before and after one', () => {
    const filter = track(BPlusTreeFilter.forCapacity({ directory }));
    const ids = idsOf(30_000);
    for (const id of ids) filter.add(id);
    for (const id of ids.slice(0, 15_000)) expect(filter.delete(id)).toBe(true);
    expect(filter.elements).toBe(15_000);
    expect(ids.map((id) => filter.has(id))).toEqual(ids.map((_, index) => index >= 15_000));
    // At least the bytes of the ids, at most three times that: pages are two thirds full, and half of the ids have gone.
    expect(filter.memoryBytes).toBeGreaterThan(15_000 * 20);
    expect(ids.map((id) => filter.has(id))).toEqual(ids.map((_, index) => index >= 15_000));
    for (const id of ids.slice(0, 10)) filter.add(id);
    for (const id of ids.slice(0, 10)) expect(filter.has(id)).toBe(true);
    expect(filter.elements).toBe(15_010);
  });

  it('is a directory while it is open, and nothing afterwards', async () => {
    await withTemporaryDirectory(async (parent) => {
      const filter = BPlusTreeFilter.forCapacity({ directory: parent });
      for (const id of idsOf(10)) filter.add(id);
      expect(readdirSync(parent)).toEqual([]);
      expect(filter.memoryBytes).toBeGreaterThan(0);
      expect(readdirSync(parent)).toHaveLength(1);
      await filter.close();
      expect(readdirSync(parent)).toEqual([]);
      await filter.close();
      expect([filter.elements, filter.has(idsOf(1)[0]!)]).toEqual([0, false]);
    });
  });

  it('saves its ids in order, whatever order they came in', () => {
    const ids = idsOf(200);
    const [one, other] = [ids, ids.toReversed()].map((order) => {
      const filter = track(BPlusTreeFilter.forCapacity({ directory }));
      for (const id of order) filter.add(id);
      return filter.save();
    });
    expect(Buffer.compare(one!, other!)).toBe(0);
  });

  it('has after merging what was in either', () => {
    const [one, other] = [0, 1].map(() => track(BPlusTreeFilter.forCapacity({ directory })));
    const ids = idsOf(100);
    for (const id of ids.slice(0, 60)) one!.add(id);
    for (const id of ids.slice(40)) other!.add(id);
    one!.merge(other!);
    one!.merge(one!);
    expect([one!.elements, other!.elements]).toEqual([100, 60]);
  });

  it('takes ids of 1 to 1978 bytes and refuses others', () => {
    const filter = track(BPlusTreeFilter.forCapacity({ directory }));
    for (const length of [1, 2, 511, 512, 1978]) {
      filter.add(Buffer.alloc(length, 7));
      expect(filter.memoryBytes).toBeGreaterThan(0);
      expect(filter.has(Buffer.alloc(length, 7))).toBe(true);
    }
    expect(() => filter.add(new Uint8Array())).toThrow(UsageError);
    expect(() => filter.has(Buffer.alloc(1979))).toThrow(UsageError);
    expect(track(BPlusTreeFilter.load(filter.save(), { directory })).elements).toBe(5);
  });

  it('refuses a list whose ids are not in order, or none', () => {
    const list = (...ids: string[]): Uint8Array => {
      const bytes = Buffer.concat(ids.map((id) => Buffer.concat([Buffer.from([id.length, 0, 0, 0]), Buffer.from(id)])));
      return encodeSaved('b-plus-tree', [ids.length], [bytes]);
    };
    expect(track(BPlusTreeFilter.load(list('a', 'aa', 'b'), { directory })).elements).toBe(3);
    for (const bytes of [list('b', 'a'), list('a', 'a'), list(''), list('a', '')]) {
      expect(() => BPlusTreeFilter.load(bytes, { directory })).toThrow(CorruptDataError);
    }
  });
});
