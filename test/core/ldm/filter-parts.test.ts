import { describe, expect, it } from 'vitest';
import { ENTRY_WORDS, NEXT, NIL, PAGE_ENTRIES, REFS } from '../../../src/core/ldm/entry-table.ts';
import type { FilterParts } from '../../../src/core/ldm/filter-parts.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import { LdmFilter, NO_ENTRY } from '../../../src/core/ldm/ldm-filter.ts';
import { filterWith, ID_BYTES, locationOf, randomIds } from './filter-support.ts';

const CHUNK_COUNT = PAGE_ENTRIES * 2 + 1234;
const ids = randomIds(CHUNK_COUNT, 6);

/** Two pages and a bit; every third chunk is dead and every tenth of the dead was forgotten. */
function sampleFilter(): LdmFilter {
  const filter = filterWith(planFilter({ capacity: 1000, hashes: 7 }), ids);
  for (let chunk = 0; chunk < CHUNK_COUNT; chunk += 3) {
    const entry = filter.find(ids, chunk * ID_BYTES);
    filter.release(entry);
    if (chunk % 30 === 0) filter.forget(entry);
  }
  return filter;
}

function copied(parts: FilterParts): FilterParts & { readonly pages: Uint32Array[] } {
  return { ...parts, pages: Array.from(parts.pages, (page) => page.slice()) };
}

describe('the parts of a filter', () => {
  it('restore to a filter that knows the same, and goes on from there', () => {
    const filter = sampleFilter();
    const restored = LdmFilter.restore(copied(filter.parts()));
    expect(restored.statistics()).toEqual(filter.statistics());
    expect([restored.deadCount, restored.missingCount]).toEqual([filter.deadCount, filter.missingCount]);
    for (let chunk = 0; chunk < CHUNK_COUNT; chunk++) {
      const entry = restored.find(ids, chunk * ID_BYTES);
      const isForgotten = chunk % 30 === 0;
      if (isForgotten !== (entry === NO_ENTRY)) expect.fail(`chunk ${chunk}`);
      if (isForgotten) continue;
      if (restored.refs(entry) !== Number(chunk % 3 !== 0)) expect.fail(`references of chunk ${chunk}`);
      if (restored.lengthOf(entry) !== chunk + 1) expect.fail(`location of chunk ${chunk}`);
    }
    restored.forEachEntry((entry, isLive) => (isLive ? restored.release(entry) : restored.forget(entry)));
    expect(restored.parts().counters.every((byte) => byte === 0)).toBe(true);
    const more = randomIds(PAGE_ENTRIES, 7);
    for (let chunk = 0; chunk < PAGE_ENTRIES; chunk++)
      restored.retain(restored.insert(more, chunk * ID_BYTES, locationOf(1)));
    expect(restored.liveCount).toBe(PAGE_ENTRIES);
  });

  it('hold live entries before dead ones, each chain a run of neighbours that its head begins', () => {
    const { pages, liveCount, deadCount, heads, deadHeads } = copied(sampleFilter().parts());
    const firsts = [...heads, ...deadHeads].filter((head) => head !== NIL);
    expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
    const isFirst = new Set([...firsts, liveCount + deadCount]);
    let entry = 0;
    for (const page of pages) {
      for (let base = 0; base < page.length; base += ENTRY_WORDS, entry++) {
        if (page[base + REFS]! > 0 !== entry < liveCount) expect.fail(`entry ${entry} is on the wrong side`);
        if (page[base + NEXT] !== (isFirst.has(entry + 1) ? NIL : entry + 1)) expect.fail(`next of ${entry}`);
      }
    }
    expect(entry).toBe(liveCount + deadCount);
  });

  it('are the same for the same state, however it was reached', () => {
    const plan = planFilter({ capacity: 2000, hashes: 7 });
    const sample = randomIds(2000, 8);
    const forwards = filterWith(plan, sample);
    const backwards = new LdmFilter(plan);
    for (let chunk = 1999; chunk >= 0; chunk--) {
      const entry = backwards.insert(sample, chunk * ID_BYTES, locationOf(chunk));
      backwards.retain(entry);
      backwards.retain(entry);
      backwards.release(entry);
    }
    expect(copied(backwards.parts())).toEqual(copied(forwards.parts()));
  });

  it('of an empty filter restore to an empty filter', () => {
    const restored = LdmFilter.restore(copied(new LdmFilter(planFilter()).parts()));
    expect([restored.liveCount, restored.deadCount, restored.find(ids, 0)]).toEqual([0, 0, NO_ENTRY]);
    expect(restored.insert(ids, 0, locationOf(0))).toBe(0);
  });
});
