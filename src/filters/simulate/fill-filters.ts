import { measureChains } from '../../core/ldm/chain-statistics.ts';
import { LdmFilter } from '../../core/ldm/ldm-filter.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { fillRandomIds } from '../../core/ldm/random-ids.ts';
import { DibfFilter } from '../family/dibf.ts';
import type { ChainGroup, LongestChains } from './fill-arrays.ts';

type FilterChains = Pick<LongestChains, 'ldmFilter' | 'ldmFilterSaved' | 'dibfFilter'>;

/** The location of a chunk is irrelevant here. */
const LOCATION = { packIndex: 0, blockOffset: 0, offsetInBlock: 0, lengthBytes: 1, storedBytes: 1 };

/** Fills the LDM filter of a repository and a DIBF with the same random ids and returns the longest chains at each size. */
export function fillFilters(
  { elements, plan }: ChainGroup,
  sizes: readonly number[],
  nextWord: () => number,
): FilterChains[] {
  const ldm = new LdmFilter(plan);
  const dibf = DibfFilter.forCapacity({ capacity: elements, falsePositiveRate: plan.fprTarget });
  const id = new Uint8Array(ID_BYTES);
  const results: FilterChains[] = [];
  for (let stored = 1; stored <= elements; stored++) {
    fillRandomIds(id, nextWord);
    ldm.retain(ldm.insert(id, 0, LOCATION));
    dibf.add(id);
    if (stored !== sizes[results.length]) continue;
    const { byLink, saved } = measureChains(ldm);
    results.push({ ldmFilter: byLink.max, ldmFilterSaved: saved.max, dibfFilter: dibf.longestChain() });
  }
  return results;
}
