import { describe, expect, it } from 'vitest';
import { falsePositiveRate, planFilter, type FilterPlan } from '../../../src/core/ldm/formulas.ts';
import { LdmFilter, NO_ENTRY, NO_PACK } from '../../../src/core/ldm/ldm-filter.ts';
import { filterWith, ID_BYTES, locationOf, randomIds } from './filter-support.ts';

const SMALL = planFilter({ capacity: 100, hashes: 7 });
const NOWHERE = { ...locationOf(0), packIndex: NO_PACK };
/** Far too few positions for its chunks: nearly all counters saturate. */
const CROWDED: FilterPlan = { capacity: 2000, hashes: 5, positions: 101, fprTarget: 1, fprPredicted: 1 };

describe('LdmFilter', () => {
  it('knows a chunk from its insertion on, and counts it only while it is referenced', () => {
    const filter = new LdmFilter(SMALL);
    const ids = randomIds(1, 1);
    expect(filter.find(ids, 0)).toBe(NO_ENTRY);
    const entry = filter.insert(ids, 0, locationOf(7));
    expect([filter.find(ids, 0), filter.mayBeLive(ids, 0), filter.liveCount, filter.deadCount]).toEqual([
      entry,
      false,
      0,
      1,
    ]);
    expect([filter.retain(entry), filter.retain(entry)]).toEqual([1, 2]);
    expect([filter.find(ids, 0), filter.mayBeLive(ids, 0), filter.liveCount, filter.deadCount]).toEqual([
      entry,
      true,
      1,
      0,
    ]);
    expect([filter.release(entry), filter.release(entry)]).toEqual([1, 0]);
    expect([filter.find(ids, 0), filter.mayBeLive(ids, 0), filter.liveCount, filter.deadCount]).toEqual([
      entry,
      false,
      0,
      1,
    ]);
    filter.forget(entry);
    expect([filter.find(ids, 0), filter.deadCount]).toEqual([NO_ENTRY, 0]);
  });

  it('refuses to release what has no references, and to forget what has', () => {
    const filter = new LdmFilter(SMALL);
    const entry = filter.insert(randomIds(1, 1), 0, locationOf(7));
    expect(() => filter.release(entry)).toThrow('without references');
    filter.retain(entry);
    expect(() => filter.forget(entry)).toThrow('live chunk');
  });

  it('keeps every field of a location, up to 2^32 - 1', () => {
    const filter = new LdmFilter(SMALL);
    const top = 0xffff_ffff;
    const location = {
      packIndex: top - 1,
      blockOffset: top,
      offsetInBlock: top,
      lengthBytes: top - 1,
      storedBytes: top,
    };
    const entry = filter.insert(randomIds(1, 1), 0, location);
    expect(filter.location(entry)).toEqual(location);
    const fields = [filter.packIndexOf(entry), filter.lengthOf(entry), filter.storedBytesOf(entry)];
    expect(fields).toEqual([top - 1, top - 1, top]);
  });

  it('counts live chunks without a location as missing until they have one', () => {
    const filter = new LdmFilter(SMALL);
    const entry = filter.insert(randomIds(1, 1), 0, NOWHERE);
    expect([filter.hasLocation(entry), filter.missingCount]).toEqual([false, 0]);
    filter.retain(entry);
    expect(filter.missingCount).toBe(1);
    filter.relocate(entry, NOWHERE);
    expect(filter.missingCount).toBe(1);
    filter.relocate(entry, locationOf(1));
    expect([filter.hasLocation(entry), filter.missingCount]).toEqual([true, 0]);
    filter.relocate(entry, NOWHERE);
    filter.release(entry);
    expect(filter.missingCount).toBe(0);
  });

  it('lets a reference count stick at 2^32 - 1', () => {
    const filter = filterWith(SMALL, randomIds(1, 1));
    const parts = filter.parts();
    const pages = Array.from(parts.pages, (page) => page.slice());
    pages[0]![10] = 0xffff_fffe;
    const restored = LdmFilter.restore({ ...parts, pages });
    expect([restored.retain(0), restored.retain(0), restored.release(0)]).toEqual(Array(3).fill(0xffff_ffff));
  });

  it('uses the numbers of forgotten entries again', () => {
    const filter = new LdmFilter(SMALL);
    const ids = randomIds(50, 1);
    for (let round = 0; round < 20; round++) {
      for (let chunk = 0; chunk < 50; chunk++)
        expect(filter.insert(ids, chunk * ID_BYTES, locationOf(chunk))).toBeLessThan(50);
      filter.forEachEntry((entry) => filter.forget(entry));
    }
    expect(filter.deadCount).toBe(0);
  });

  it('grows without passing its target rate or losing a chunk', () => {
    const ids = randomIds(5000, 2);
    const filter = new LdmFilter(planFilter({ capacity: 1, hashes: 7 }));
    for (let chunk = 0; chunk < 5000; chunk++) {
      filter.retain(filter.insert(ids, chunk * ID_BYTES, locationOf(chunk)));
      const { positions, hashes, fprTarget, capacity } = filter.plan;
      expect(filter.liveCount).toBeLessThanOrEqual(capacity);
      expect(falsePositiveRate(positions, filter.liveCount, hashes)).toBeLessThanOrEqual(fprTarget);
    }
    for (let chunk = 0; chunk < 5000; chunk++) {
      expect(filter.location(filter.find(ids, chunk * ID_BYTES))).toEqual(locationOf(chunk));
    }
    expect(filter.plan.capacity).toBeLessThan(5000 * 1.6);
  });

  it('grows in one step where all chunks are known before they are retained', () => {
    const ids = randomIds(5000, 2);
    const filter = new LdmFilter(SMALL);
    for (let chunk = 0; chunk < 5000; chunk++) filter.insert(ids, chunk * ID_BYTES, locationOf(chunk));
    filter.forEachEntry((entry) => filter.retain(entry));
    expect(filter.plan.capacity).toBe(5000);
    expect(filter.statistics().elements).toBe(5000);
  });

  it('gives the memory for dead chunks back when they are retained or forgotten', () => {
    const ids = randomIds(20_000, 5);
    const filter = new LdmFilter(SMALL);
    for (let chunk = 0; chunk < 20_000; chunk++) filter.insert(ids, chunk * ID_BYTES, locationOf(chunk));
    expect(filter.parts().deadHeads.length).toBeGreaterThanOrEqual(10_000);
    filter.forEachEntry((entry) => (entry % 2 === 0 ? filter.retain(entry) : filter.forget(entry)));
    expect(filter.parts().deadHeads.length).toBe(1024);
    for (let chunk = 0; chunk < 20_000; chunk++) expect(filter.find(ids, chunk * ID_BYTES) >= 0).toBe(chunk % 2 === 0);
  });

  it('has all counters at 0 after all is released', () => {
    const filter = filterWith(planFilter({ capacity: 1000, hashes: 7 }), randomIds(1000, 3));
    expect(filter.statistics().fillRatio).toBeGreaterThan(0.45);
    filter.forEachEntry((entry) => filter.release(entry));
    expect(filter.parts().counters.every((byte) => byte === 0)).toBe(true);
    expect(filter.parts().heads.every((head) => head === 0xffff_ffff)).toBe(true);
    expect(filter.deadCount).toBe(1000);
  });
});

describe('saturated counters', () => {
  it('stick and never hide a live chunk; rebuilding sets them right', () => {
    const ids = randomIds(1000, 4);
    const filter = filterWith(CROWDED, ids);
    const { saturated, counterMax } = filter.statistics();
    expect([counterMax, saturated]).toEqual([15, 101]);
    expect(filter.saturatedCount).toBe(saturated);
    for (let chunk = 0; chunk < 990; chunk++) filter.release(filter.find(ids, chunk * ID_BYTES));
    expect(filter.statistics().saturated).toBe(101);
    for (let chunk = 990; chunk < 1000; chunk++) expect(filter.refs(filter.find(ids, chunk * ID_BYTES))).toBe(1);
    filter.rebuildCounters();
    expect(filter.saturatedCount).toBe(0);
    expect(filter.statistics().fillRatio).toBeLessThan(0.5);
    for (let chunk = 990; chunk < 1000; chunk++) expect(filter.refs(filter.find(ids, chunk * ID_BYTES))).toBe(1);
  });

  it('are set right by growing', () => {
    const filter = filterWith(CROWDED, randomIds(2001, 4));
    expect(filter.plan.capacity).toBe(3000);
    expect(filter.saturatedCount).toBe(0);
  });
});
