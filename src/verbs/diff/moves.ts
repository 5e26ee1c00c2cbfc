import { createHash } from 'node:crypto';
import type { LoneEntry } from './comparison.ts';

/** Returns a text that files of the same content have in common, and others do not. Undefined for an empty file. */
export function contentKeyOf(sizeBytes: number, chunkIds: Uint8Array): string | undefined {
  if (sizeBytes === 0) return undefined;
  return `${sizeBytes} ${createHash('sha256').update(chunkIds).digest('base64')}`;
}

/** Something that only one of the sides has, with what it may have in common with something on the other side. */
export interface Movable {
  readonly lone: LoneEntry;
  readonly key: string | undefined;
}

interface Move {
  readonly from: LoneEntry;
  readonly to: LoneEntry;
}

/**
 * Pairs what was removed with what was added and has the same key, preferring the same name. Returns the pairs and what
 * is left on both sides.
 */
export function pairMoves(
  removed: readonly Movable[],
  added: readonly Movable[],
): { readonly moves: readonly Move[]; readonly removed: readonly LoneEntry[]; readonly added: readonly LoneEntry[] } {
  const candidates = new Map<string, Set<LoneEntry>>();
  for (const { lone, key } of removed) {
    if (key === undefined) continue;
    const same = candidates.get(key) ?? new Set<LoneEntry>();
    candidates.set(key, same.add(lone));
  }
  const sourceOf = new Map<LoneEntry, LoneEntry>();
  const pair = (isSameName: boolean): void => {
    for (const { lone: to, key } of added) {
      const same = key === undefined || sourceOf.has(to) ? undefined : candidates.get(key);
      const from = findCandidate(same, isSameName ? to.path.name : undefined);
      if (from === undefined) continue;
      same!.delete(from);
      sourceOf.set(to, from);
    }
  };
  pair(true);
  pair(false);
  const moved = new Set(sourceOf.values());
  return {
    moves: Array.from(sourceOf, ([to, from]) => ({ from, to })),
    removed: removed.map(({ lone }) => lone).filter((lone) => !moved.has(lone)),
    added: added.map(({ lone }) => lone).filter((lone) => !sourceOf.has(lone)),
  };
}

/** Many files may have the same content, so only the first ones are looked at for their names. */
const NAMES_COMPARED_MAX = 100;

function findCandidate(same: ReadonlySet<LoneEntry> | undefined, name: string | undefined): LoneEntry | undefined {
  let compared = 0;
  for (const candidate of same ?? []) {
    if (name === undefined || candidate.path.name === name) return candidate;
    compared += 1;
    if (compared === NAMES_COMPARED_MAX) return undefined;
  }
  return undefined;
}
