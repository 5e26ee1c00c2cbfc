import { describe, expect, it } from 'vitest';
import { describeChains, measureChains } from '../../../src/core/ldm/chain-statistics.ts';
import { ENTRY_WORDS, NEXT, NIL, PAGE_ENTRIES } from '../../../src/core/ldm/entry-table.ts';
import { planFilter } from '../../../src/core/ldm/formulas.ts';
import type { LdmFilter } from '../../../src/core/ldm/ldm-filter.ts';
import { ID_WORDS, linkOf, readIdWords } from '../../../src/core/ldm/positions.ts';
import { ID_BYTES, filterWith, randomIds } from './filter-support.ts';

/** How often each place occurs: the length of its chain. */
function lengthsOf(places: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  return [...counts.values()];
}

function histogramOf(lengths: readonly number[]): number[] {
  return Array.from(
    { length: Math.max(...lengths) + 1 },
    (_, length) => lengths.filter((each) => each === length).length,
  );
}

/** The lengths of the chains that the filter really has, walked from their heads through what it saves. */
function walkChains(filter: LdmFilter): number[] {
  const { heads, pages } = filter.parts();
  const copies = [...pages].map((page) => page.slice());
  const lengths: number[] = [];
  for (const head of heads) {
    let length = 0;
    for (let entry = head; entry !== NIL; length++) {
      entry = copies[Math.floor(entry / PAGE_ENTRIES)]![(entry % PAGE_ENTRIES) * ENTRY_WORDS + NEXT]!;
    }
    if (length > 0) lengths.push(length);
  }
  return lengths;
}

describe('the chains of a filter', () => {
  const elements = 1500;
  const plan = planFilter({ capacity: 1600, hashes: 7 });
  const ids = randomIds(elements, 21);
  const filter = filterWith(plan, ids);
  const { byLink, saved, walked } = measureChains(filter);

  it('are counted by exact link position, as the LDM paper defines them', () => {
    const words = new Uint32Array(ID_WORDS);
    const links = Array.from({ length: elements }, (_, chunk) => {
      readIdWords(ids, chunk * ID_BYTES, words);
      return linkOf(words, 0, plan.positions, plan.hashes);
    });
    expect(byLink.histogram).toEqual(histogramOf(lengthsOf(links)));
  });

  it('are counted as they are saved', () => {
    const lengths = walkChains(filter);
    expect(saved.histogram).toEqual(histogramOf(lengths));
    expect(saved.count).toBe(lengths.length);
    expect(saved.max).toBeGreaterThan(byLink.max);
    // Each chunk of a chain is found after as many steps as its place on it.
    const steps = lengths.reduce(
      (sum, length) => sum + Array.from({ length }, (_, at) => at + 1).reduce((a, b) => a + b),
      0,
    );
    expect(saved.meanVisited).toBeCloseTo(steps / elements, 12);
    expect(byLink.meanVisited).toBeLessThan(1.1);
    expect(saved.meanVisited).toBeGreaterThan(1.4);
  });

  it('are counted as look-ups walk them', () => {
    let visitedCount = 0;
    let longest = 0;
    for (let chunk = 0; chunk < elements; chunk += 1) {
      const visited: number[] = [];
      expect(filter.find(ids, chunk * ID_BYTES, visited)).toBe(visited.at(-1));
      visitedCount += visited.length;
      longest = Math.max(longest, visited.length);
    }
    expect(walked.meanVisited).toBeCloseTo(visitedCount / elements, 12);
    expect(walked.max).toBe(longest);
    expect(walked.meanVisited).toBeGreaterThan(saved.meanVisited + 0.3);
  });

  it('have figures that follow from their histogram', () => {
    expect(describeChains([7, 2, 0, 1])).toEqual({
      count: 3,
      mean: 5 / 3,
      max: 3,
      histogram: [0, 2, 0, 1],
      meanVisited: (1 + 1 + 1 + 2 + 3) / 5,
    });
  });
});
