import assert from 'node:assert/strict';
import { NEXT, NIL, type EntryTable } from './entry-table.ts';

/** Operations on singly linked chains of entries. A chain is identified by the index of its head in `heads`. */

/** Returns a head array in which every chain is empty. */
export function emptyHeads(headCount: number): Uint32Array {
  return new Uint32Array(headCount).fill(NIL);
}

/** Returns the entry with this id on one chain, or NIL. `visited` gets the entries that were compared, in their order. */
export function findOnChain(entries: EntryTable, first: number, id: Uint32Array, visited?: number[]): number {
  for (let entry = first; entry !== NIL; entry = entries.get(entry, NEXT)) {
    visited?.push(entry);
    if (entries.hasId(entry, id)) return entry;
  }
  return NIL;
}

export function pushOnChain(entries: EntryTable, heads: Uint32Array, head: number, entry: number): void {
  entries.set(entry, NEXT, heads[head]!);
  heads[head] = entry;
}

export function removeFromChain(entries: EntryTable, heads: Uint32Array, head: number, entry: number): void {
  const next = entries.get(entry, NEXT);
  let at = heads[head]!;
  if (at === entry) {
    heads[head] = next;
    return;
  }
  for (;;) {
    assert(at !== NIL, 'an entry is not on its chain');
    const following = entries.get(at, NEXT);
    if (following === entry) break;
    at = following;
  }
  entries.set(at, NEXT, next);
}

/** Writes the entries of one chain to the front of `target` and returns their number. */
export function readChain(entries: EntryTable, first: number, target: number[]): number {
  let length = 0;
  for (let entry = first; entry !== NIL; entry = entries.get(entry, NEXT)) target[length++] = entry;
  return length;
}
