import { emptyHeads } from '../../core/ldm/chains.ts';
import { COUNTER_MAX, CounterArray } from '../../core/ldm/counters.ts';
import { baseOf, ENTRY_WORDS, NEXT, NIL, PACK, PAGE_ENTRIES, PAGE_WORDS, REFS } from '../../core/ldm/entry-table.ts';
import { type FilterPlan, MAX_CAPACITY, MAX_HASHES, planFilter } from '../../core/ldm/formulas.ts';
import { bytesOver, refuseBigEndian } from '../../core/ldm/image-words.ts';
import { LdmFilter, NO_PACK } from '../../core/ldm/ldm-filter.ts';
import { headOfLink, ID_WORDS, linkOf, startOf, strideOf } from '../../core/ldm/positions.ts';
import { checkSaved, decodeSaved, encodeSaved, isWholeNumber } from './saved-filter.ts';

/** An id followed by its reference count. */
const SAVED_WORDS = ID_WORDS + 1;
const SAVED_BYTES = SAVED_WORDS * 4;
/** Number of heads in a filter without dead chunks. */
const DEAD_HEADS = 2 ** 10;

/** Encodes the plan, the counters, and the ids with their reference counts, sorted by chain. */
export function encodeLdmSet(filter: LdmFilter): Uint8Array {
  refuseBigEndian();
  const { plan, counters, pages } = filter.parts();
  const words = new Uint32Array(filter.liveCount * SAVED_WORDS);
  let to = 0;
  for (const page of pages) {
    for (let from = 0; from < page.length; from += ENTRY_WORDS, to += SAVED_WORDS) {
      for (let word = 0; word < ID_WORDS; word++) words[to + word] = page[from + word]!;
      words[to + ID_WORDS] = page[from + REFS]!;
    }
  }
  return encodeSaved('ldm', [plan.capacity, plan.hashes, plan.fprTarget], [counters, bytesOver(words)]);
}

/**
 * Rebuilds the chains from the ids, so that no saved byte can corrupt them, and compares the counters with the ids. The
 * allocated memory depends on the actual length of the counters (about the size of the file), not on the numbers in the
 * file.
 * @throws CorruptDataError if `encodeLdmSet` did not write the bytes
 */
export function decodeLdmSet(bytes: Uint8Array): LdmFilter {
  refuseBigEndian();
  const { numbers, arrays } = decodeSaved('ldm', bytes);
  const [counters, entries] = arrays;
  checkSaved(arrays.length === 2 && entries!.length % SAVED_BYTES === 0, 'ldm', 'its arrays have wrong lengths');
  const plan = readPlan(numbers);
  const liveCount = entries!.length / SAVED_BYTES;
  checkSaved(counters!.length === Math.ceil(plan.positions / 2), 'ldm', 'its counters have a wrong length');
  checkSaved(liveCount <= plan.capacity, 'ldm', 'it holds more ids than its capacity');
  const words = new Uint32Array(entries!.buffer);
  checkCounters(plan, words, counters!);
  const counts = { liveCount, deadCount: 0, missingCount: liveCount };
  const deadHeads = emptyHeads(DEAD_HEADS);
  return LdmFilter.restore({ plan, ...counts, counters: counters!, deadHeads, ...linkEntries(plan, words) });
}

function readPlan(numbers: readonly number[]): FilterPlan {
  const [capacity, hashes, fpr] = numbers;
  const isPlausible =
    numbers.length === 3 && isWholeNumber(capacity, 1, MAX_CAPACITY) && isWholeNumber(hashes, 1, MAX_HASHES);
  // Outside this range no plan with these hashes exists. Within it, `planFilter` can only reject the size.
  checkSaved(isPlausible && fpr! >= 2 ** -hashes * 0.98 && fpr! < 1, 'ldm', 'its numbers do not form a valid plan');
  try {
    return planFilter({ capacity, hashes, fpr });
  } catch (cause) {
    checkSaved(false, 'ldm', `its numbers do not form a valid plan: ${(cause as Error).message}`);
    throw cause;
  }
}

/** Accepts saturated counters; every other counter must match the ids. */
function checkCounters(plan: FilterPlan, words: Uint32Array, counters: Uint8Array): void {
  const { positions, hashes } = plan;
  const expected = new CounterArray(positions, hashes);
  for (let at = 0; at < words.length; at += SAVED_WORDS) {
    expected.add(startOf(words, at, positions), strideOf(words, at, positions));
  }
  const found = new CounterArray(positions, hashes, counters);
  for (let at = 0; at < counters.length; at++) {
    if (counters[at] === expected.bytes[at]) continue;
    for (const position of [2 * at, 2 * at + 1]) {
      const count = found.countAt(position);
      const isRight = count === expected.countAt(position) || (count === COUNTER_MAX && position < positions);
      checkSaved(isRight, 'ldm', `the counter at position ${position} is wrong`);
    }
  }
}

/** Returns pages and heads for `FilterParts`. Checks the order of the ids, which also rules out duplicates. */
function linkEntries(plan: FilterPlan, words: Uint32Array): { heads: Uint32Array; pages: Uint32Array[] } {
  const heads = emptyHeads(plan.capacity);
  const pages: Uint32Array[] = [];
  let lastLink = -1;
  let lastHead = -1;
  for (let entry = 0, at = 0; at < words.length; entry++, at += SAVED_WORDS) {
    if (entry % PAGE_ENTRIES === 0) pages.push(new Uint32Array(PAGE_WORDS));
    const link = linkOf(words, at, plan.positions, plan.hashes);
    const isInOrder = link > lastLink || (link === lastLink && isBefore(words, at - SAVED_WORDS, at));
    checkSaved(isInOrder && words[at + ID_WORDS]! > 0, 'ldm', 'its ids are not sorted by chain');
    const head = headOfLink(link, plan);
    if (head === lastHead) pages[Math.floor((entry - 1) / PAGE_ENTRIES)]![baseOf(entry - 1) + NEXT] = entry;
    else heads[head] = entry;
    writeEntry(pages.at(-1)!, baseOf(entry), words, at);
    lastLink = link;
    lastHead = head;
  }
  return { heads, pages };
}

function writeEntry(page: Uint32Array, base: number, words: Uint32Array, at: number): void {
  for (let word = 0; word < ID_WORDS; word++) page[base + word] = words[at + word]!;
  page[base + PACK] = NO_PACK;
  page[base + REFS] = words[at + ID_WORDS]!;
  page[base + NEXT] = NIL;
}

function isBefore(words: Uint32Array, at: number, other: number): boolean {
  for (let word = 0; word < ID_WORDS; word++) {
    if (words[at + word] !== words[other + word]) return words[at + word]! < words[other + word]!;
  }
  return false;
}
