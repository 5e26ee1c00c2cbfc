import type { Group } from '../../groups/group.ts';
import { compareRanks } from '../../groups/pack-copy.ts';
import type { GroupCopy, GroupPack } from './group-packs.ts';

/** How many copies of a pack there should be. */
export type CopiesWanted = (packId: string) => number;

/** How a pack is stored as it should be: which copies remain, which groups need a new one, and what is removed. */
export interface Decision {
  readonly kept: readonly GroupCopy[];
  readonly missing: readonly Group[];
  readonly surplus: readonly GroupCopy[];
  /** Whether it has fewer copies than wanted then, because too few groups take it. */
  readonly isShort: boolean;
}

/**
 * Chooses the first groups that have a pack or take it. `ranked`: the groups that should have it, the best one first.
 * `takes`: whether a group takes another copy. If there are too few groups, every copy remains with `mayFallShort`, and
 * the result is undefined without it.
 */
export function decide(given: {
  readonly pack: GroupPack;
  readonly ranked: readonly Group[];
  readonly takes: (group: Group) => boolean;
  readonly wanted: number;
  readonly mayFallShort: boolean;
}): Decision | undefined {
  const { pack, ranked, takes, wanted } = given;
  const holders = homesOf(pack.copies);
  let suitable = ranked.filter((group) => takes(group) || (group.isOnline && holders.has(group)));
  while (suitable.length >= wanted) {
    const { kept, missing } = findKept(pack, suitable.slice(0, wanted));
    // A group may have a copy that does not suffice, and take no other.
    const unfit = missing.find((group) => !takes(group));
    if (unfit === undefined) {
      return { kept, missing, surplus: pack.copies.filter((copy) => !kept.includes(copy)), isShort: false };
    }
    suitable = suitable.filter((group) => group !== unfit);
  }
  if (!given.mayFallShort) return undefined;
  const others = ranked.filter((group) => takes(group) && !holders.has(group));
  const missing = others.slice(0, Math.max(0, wanted - holders.size));
  return { kept: pack.copies, missing, surplus: [], isShort: holders.size + missing.length < wanted };
}

/**
 * Finds the copies that can remain in these groups: those above all copies elsewhere. The other groups need a new copy.
 */
function findKept(
  { copies, damaged = [] }: GroupPack,
  targets: readonly Group[],
): { readonly kept: GroupCopy[]; readonly missing: Group[] } {
  const [elsewhere] = [...copies.filter(({ home }) => !targets.includes(home)), ...damaged].toSorted(compareRanks);
  const kept: GroupCopy[] = [];
  const missing: Group[] = [];
  for (const target of targets) {
    const best = copies.find(({ home }) => home === target);
    if (best !== undefined && (elsewhere === undefined || compareRanks(best, elsewhere) < 0)) kept.push(best);
    else missing.push(target);
  }
  return { kept, missing };
}

export function homesOf(copies: readonly GroupCopy[]): Set<Group> {
  return new Set(copies.map(({ home }) => home));
}
