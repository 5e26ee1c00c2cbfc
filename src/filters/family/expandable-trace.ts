import { lengthOf } from './expandable-shape.ts';
import type { QuotientTable } from './quotient-table.ts';
import type { SlotTrace, TracedSlot } from './trace.ts';

/**
 * What a query of an expandable filter reads: the fingerprints of one home, of which prefixes of the sought one match.
 * `key`: the sought one, after a bit that marks its length. `found`: the slot of the longest match, or -1.
 */
export function traceOfRun(table: QuotientTable, home: number, key: number, found: number): SlotTrace {
  const keyLength = lengthOf(key);
  const slots: TracedSlot[] = [];
  for (let slot = table.runOf(home); slot >= 0; slot = table.next(slot)) {
    const value = table.valueAt(slot);
    const isMatch = key >>> (keyLength - lengthOf(value)) === value;
    slots.push({ label: `slot of the run`, place: slot, value, isMatch });
  }
  if (slots.length === 0) slots.push({ label: 'home', place: home, value: undefined });
  const none = slots[0]!.value === undefined ? 'no fingerprint has this home' : 'no fingerprint of the run matches';
  return {
    hashes: [
      ['home', `${home} of ${table.homes} slots, by the first bits of the hash`],
      ['fingerprint', `${bitsAfterFirst(key)}, the ${keyLength} bits after these`],
    ],
    slots,
    format: bitsAfterFirst,
    isFound: found >= 0,
    reason: found >= 0 ? 'a fingerprint of the run is a prefix of the sought one' : none,
  };
}

/** A fingerprint in binary; a stored one may have no bits left, and then matches all. */
function bitsAfterFirst(value: number): string {
  return value === 1 ? '(no bits)' : value.toString(2).slice(1);
}
