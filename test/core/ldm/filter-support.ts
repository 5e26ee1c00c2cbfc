import type { ChunkLocation } from '../../../src/core/ldm/entry-table.ts';
import { LdmFilter } from '../../../src/core/ldm/ldm-filter.ts';
import type { FilterPlan } from '../../../src/core/ldm/formulas.ts';
import { fillRandomIds, randomWords } from '../../../src/core/ldm/random-ids.ts';

export const ID_BYTES = 20;

/** `count` random ids one after the other. The same seed gives the same ids. */
export function randomIds(count: number, seed: number): Uint8Array {
  const ids = new Uint8Array(count * ID_BYTES);
  fillRandomIds(ids, randomWords(seed));
  return ids;
}

/** A location that tells which chunk it belongs to. */
export function locationOf(chunk: number): ChunkLocation {
  return {
    packIndex: chunk % 1000,
    blockOffset: chunk * 3,
    offsetInBlock: chunk * 5,
    lengthBytes: chunk + 1,
    storedBytes: chunk >>> 1,
  };
}

/** A filter in which all the ids are live, once each. */
export function filterWith(plan: FilterPlan, ids: Uint8Array): LdmFilter {
  const filter = new LdmFilter(plan);
  for (let chunk = 0; chunk < ids.length / ID_BYTES; chunk++) {
    filter.retain(filter.insert(ids, chunk * ID_BYTES, locationOf(chunk)));
  }
  return filter;
}
