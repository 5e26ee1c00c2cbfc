import type { DeadChains } from './chains-dead.ts';
import { emptyHeads } from './chains.ts';
import { baseOf, ENTRY_WORDS, NEXT, NIL, PAGE_ENTRIES, PAGE_WORDS, type EntryTable } from './entry-table.ts';
import type { FilterPlan } from './formulas.ts';
import type { LiveChunks } from './live-chunks.ts';
import { headOfLink } from './positions.ts';

/**
 * The complete contents of a filter, in a form that is saved and loaded without parsing.
 *
 * Entries are numbered 0, 1, 2, ... without gaps: first the live ones sorted by link position, then the dead ones chain
 * by chain. A chain is therefore a run of consecutive entries: the `next` word of an entry is its own number plus 1, or
 * NIL at the end. See entry-table.ts for the layout of an entry. All words are in the byte order of the machine.
 */
export interface FilterParts {
  readonly plan: FilterPlan;
  readonly liveCount: number;
  readonly deadCount: number;
  /** Number of live entries without a location. */
  readonly missingCount: number;
  /** Two 4-bit counters per byte, the even position in the lower half; floor((m + 1) / 2) bytes. */
  readonly counters: Uint8Array;
  /** The first entry of each live chain, or NIL; `capacity` elements. */
  readonly heads: Uint32Array;
  /** The first entry of each dead chain, or NIL; the length is a power of two, at least 1024. */
  readonly deadHeads: Uint32Array;
  /** Pages of PAGE_ENTRIES entries of 12 words each; the last one may be shorter. */
  readonly pages: Iterable<Uint32Array>;
}

interface FilterContents {
  readonly entries: EntryTable;
  readonly live: LiveChunks;
  readonly liveCount: number;
  readonly dead: DeadChains;
  readonly missingCount: number;
}

/**
 * Returns the parts of a filter with its entries sorted by chain. Uses 5 bytes per chunk until the pages are consumed.
 */
export function arrangeEntries(contents: FilterContents): FilterParts {
  const { entries, live, liveCount, dead, missingCount } = contents;
  const { plan, chains } = live;
  const order = new Uint32Array(liveCount + dead.count);
  const isFirst = new Uint8Array(order.length + 1).fill(1, order.length);
  const heads = emptyHeads(plan.capacity);
  const deadHeads = emptyHeads(dead.heads.length);
  let count = 0;
  const append = (entry: number, headsOfKind: Uint32Array, head: number): void => {
    if (headsOfKind[head] === NIL) {
      headsOfKind[head] = count;
      isFirst[count] = 1;
    }
    order[count++] = entry;
  };
  chains.forEachInOrder((entry, link) => append(entry, heads, headOfLink(link, plan)));
  dead.forEachInOrder((entry, head) => append(entry, deadHeads, head));
  const pages = { [Symbol.iterator]: () => arrangedPages(entries, order, isFirst) };
  const counts = { liveCount, deadCount: dead.count, missingCount };
  return { plan, ...counts, counters: live.counters.bytes, heads, deadHeads, pages };
}

/** Yields the entries in the given order, one page at a time. All pages share one buffer. */
function* arrangedPages(entries: EntryTable, order: Uint32Array, isFirst: Uint8Array): Generator<Uint32Array> {
  const page = new Uint32Array(PAGE_WORDS);
  for (let start = 0; start < order.length; start += PAGE_ENTRIES) {
    const end = Math.min(start + PAGE_ENTRIES, order.length);
    for (let index = start, to = 0; index < end; index++, to += ENTRY_WORDS) {
      const source = entries.pageOf(order[index]!);
      const from = baseOf(order[index]!);
      for (let word = 0; word < NEXT; word++) page[to + word] = source[from + word]!;
      page[to + NEXT] = isFirst[index + 1] === 1 ? NIL : index + 1;
    }
    yield page.subarray(0, (end - start) * ENTRY_WORDS);
  }
}
