import { CounterArray } from './counters.ts';
import type { LdmFilter } from './ldm-filter.ts';
import { ID_BYTES, ID_WORDS, readIdWords, startOf, strideOf } from './positions.ts';

export interface PartOfCounters {
  readonly counters: CounterArray;
  /** Of the chunks that are counted. */
  readonly liveCount: number;
}

/**
 * Returns the counters as they are without some live chunks: a copy. Saturated ones keep their value, because their true
 * count is unknown, so a counter is never 0 where another chunk has a position.
 */
export function countersWithout(filter: LdmFilter, isLeftOut: (entry: number) => boolean): PartOfCounters {
  const { positions, hashes, bytes } = filter.counters;
  const counters = new CounterArray(positions, hashes, bytes.slice());
  let { liveCount } = filter;
  const id = new Uint8Array(ID_BYTES);
  const words = new Uint32Array(ID_WORDS);
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !isLeftOut(entry)) return;
    filter.copyId(entry, id, 0);
    readIdWords(id, 0, words);
    counters.subtract(startOf(words, 0, positions), strideOf(words, 0, positions));
    liveCount -= 1;
  });
  return { counters, liveCount };
}
